internal import ArgumentParser
internal import Tidegate
internal import TidegateCore

/// `--proxy` and `--proxy-from-environment`.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Proxy to use, as SCHEME://[USER:PASSWORD@]HOST:PORT; http, https, socks4a, socks5 or socks5h.",
            valueName: "url"))
    var proxy: String?

    @Flag(help: "Use the proxy that http_proxy, https_proxy, all_proxy and no_proxy name.")
    var proxyFromEnvironment = false

    func validate() throws {
        if self.proxy != nil, self.proxyFromEnvironment {
            throw ValidationError("--proxy and --proxy-from-environment are mutually exclusive")
        }
        _ = try self.proxy.map { try Self.parse($0, of: "--proxy") }
    }

    /// The proxies of transfers.
    func policy(environment: [String: String]) throws -> ProxyPolicy {
        guard self.proxyFromEnvironment else { return ProxyPolicy(self.proxy) }
        let policy = ProxyPolicy(environment: environment)
        for (scheme, text) in [(HTTPURL.Scheme.http, policy.http), (.https, policy.https)] {
            guard let text, let name = ProxyPolicy.variable(for: scheme, in: environment) else { continue }
            _ = try Self.parse(text, of: name)
        }
        return policy
    }

    /// The target through the proxy that the options ask for; one that only the environment names is noted.
    func apply(to target: ExplainTarget, environment: [String: String]) throws -> ExplainTarget {
        if let proxy = self.proxy { return target.through(try Self.parse(proxy, of: "--proxy")) }
        let policy = ProxyPolicy(environment: environment)
        guard let url = target.givenURL, let name = ProxyPolicy.variable(for: url.scheme, in: environment),
            let text = environment[name], !policy.isException(url.target)
        else { return target }
        guard self.proxyFromEnvironment else {
            var target = target
            target.unusedProxy = (try? Proxy(text)).map { "\($0)" } ?? name
            return target
        }
        return target.through(try Self.parse(text, of: name))
    }

    private static func parse(_ text: String, of name: String) throws -> Proxy {
        do throws(ProxyError) {
            return try Proxy(text)
        } catch {
            throw ValidationError("\(name): \(error)")
        }
    }
}
