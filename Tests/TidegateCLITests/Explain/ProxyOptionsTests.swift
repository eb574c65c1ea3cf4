import ArgumentParser
import Testing
import Tidegate
import TidegateCore

@testable import TidegateCLI

/// Which proxy `explain` goes through, and which one it only mentions.
@Suite struct ProxyOptionsTests {
    private func proxy(_ url: String, _ variables: [String: String]) throws -> String? {
        ProxyPolicy(environment: variables).proxy(for: try HTTPURL(url))?.description
    }

    @Test("Each scheme has its variable, all_proxy is for both, and HTTP_PROXY is ignored")
    func variables() throws {
        let all = ["http_proxy": "http://p:1", "HTTPS_PROXY": "http://p:2", "all_proxy": "http://p:3"]
        #expect(try self.proxy("http://a.test/", all) == "http://p:1")
        #expect(try self.proxy("https://a.test/", all) == "http://p:2")
        #expect(try self.proxy("https://a.test/", ["all_proxy": "http://p:3"]) == "http://p:3")
        #expect(try self.proxy("http://a.test/", ["HTTP_PROXY": "http://p:1"]) == nil)
    }

    @Test(
        "no_proxy excepts hosts, domains and everything",
        arguments: [
            ("a.test", true), ("test", true), (".test", true), ("*", true), ("b.test, a.test", true), ("x", false),
            ("a.test:80", true), ("a.test:81", false), ("sta.test", false), ("t", false), ("*.test", true),
            ("*.test:80", true), ("*.test:81", false), ("*.a.test", false), ("b.test\ta.test", true),
        ])
    func exceptions(_ list: String, _ isExcepted: Bool) throws {
        let variables = ["http_proxy": "http://p:1", "no_proxy": list]
        #expect(try self.proxy("http://a.test/", variables) == (isExcepted ? nil : "http://p:1"))
    }

    @Test(
        "no_proxy excepts addresses and networks",
        arguments: [
            ("192.0.2.7", "192.0.2.0/24", true), ("192.0.3.7", "192.0.2.0/24", false), ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "7", false), ("[2001:db8::7]", "2001:db8::/32", true),
            ("[2001:db8::7]", "192.0.2.0/24", false),
            ("[2001:db8::7]", "[2001:db8::7]:443", false), ("192.0.2.7", "192.0.2.0/x", false),
        ])
    func networks(_ host: String, _ list: String, _ isExcepted: Bool) throws {
        let variables = ["http_proxy": "http://p:1", "no_proxy": list]
        #expect(try self.proxy("http://\(host)/", variables) == (isExcepted ? nil : "http://p:1"))
    }

    @Test("no_proxy and the host may be typed in either form", arguments: ["bücher.test", "xn--bcher-kva.test"])
    func international(_ host: String) throws {
        for list in ["bücher.test", ".BÜCHER.test", "xn--bcher-kva.test"] {
            #expect(try self.proxy("http://\(host)/", ["http_proxy": "http://p:1", "no_proxy": list]) == nil)
        }
    }

    @Test("A proxy that is used stands in the target, one that is not is noted without its password")
    func applied() throws {
        let environment = ["http_proxy": "http://u:secret@p.test:3128/"]
        let target = try ExplainTarget("http://a.test/x")
        let plain = try ProxyOptions.parse([]).apply(to: target, environment: environment)
        #expect(plain.description == "http://a.test/x" && plain.unusedProxy == "http://p.test:3128")
        let used = try ProxyOptions.parse(["--proxy-from-environment"]).apply(to: target, environment: environment)
        #expect(used.description == "http://a.test/x through the proxy http://p.test:3128")
        #expect(used.target == (try Target("p.test:3128")) && used.unusedProxy == nil)
        let given = try ProxyOptions.parse(["--proxy", "q.test:8080"]).apply(to: target, environment: environment)
        #expect(given.target == (try Target("q.test:8080")))
    }

    @Test("--noproxy excepts hosts from --proxy, and takes the place of no_proxy")
    func noproxy() throws {
        let environment = ["http_proxy": "http://p.test:3128", "no_proxy": "a.test"]
        func used(_ arguments: [String], _ url: String) throws -> [String?] {
            let options = try ProxyOptions.parse(arguments)
            let target = try options.apply(to: try ExplainTarget(url), environment: environment)
            let policy = try options.policy(environment: environment)
            return ["\(target.target)", policy.proxy(for: try HTTPURL(url))?.description]
        }
        let given = ["--proxy", "http://q.test:1", "--noproxy", "a.test, 192.0.2.0/24"]
        #expect(try used(given, "http://www.a.test/") == ["www.a.test:80", nil])
        #expect(try used(given, "http://192.0.2.9/") == ["192.0.2.9:80", nil])
        #expect(try used(given, "http://b.test/") == ["q.test:1", "http://q.test:1"])
        let fromEnvironment = ["--proxy-from-environment", "--noproxy", "b.test"]
        #expect(try used(fromEnvironment, "http://a.test/") == ["p.test:3128", "http://p.test:3128"])
        #expect(try used(fromEnvironment, "http://b.test/") == ["b.test:80", nil])
        #expect(try used(["--proxy", "http://q.test:1", "--noproxy", "*"], "http://b.test/") == ["b.test:80", nil])
    }

    @Test(
        "What can match no host is refused in the option, and left out of the environment's list",
        arguments: [
            "*a.test", "a.*", "192.0.2.*", "192.0.2.0/33", "192.0.2.0/24:80", "http://a.test", "a.test:0", "<local>",
            "[::1",
        ])
    func unmatchable(_ text: String) throws {
        let list = "b.test, \(text)"
        let forms = "a host, a domain such as .example.com or *.example.com, an address or a network"
        let message = "\"\(text)\" is not \(forms)"
        #expect {
            try ProxyOptions.parse(["--noproxy", list])
        } throws: {
            ProxyOptions.message(for: $0).contains("--noproxy: \(message)")
        }
        let given = try ProxyOptions.parse(["--proxy-from-environment"])
        for name in ["no_proxy", "NO_PROXY"] {
            #expect(try given.policy(environment: [name: list]).exceptions == ["b.test"])
        }
        let other = try ProxyOptions.parse(["--proxy-from-environment", "--noproxy", "a.test"])
        #expect(try other.policy(environment: ["no_proxy": list]).exceptions == ["a.test"])
    }

    @Test("Bad input names the option", arguments: [["--proxy", "ftp://p:1"], ["--proxy", "http://p:0"]])
    func bad(_ arguments: [String]) throws {
        #expect {
            try ProxyOptions.parse(arguments)
        } throws: {
            "\(ProxyOptions.message(for: $0))".contains("--proxy:")
        }
    }
}
