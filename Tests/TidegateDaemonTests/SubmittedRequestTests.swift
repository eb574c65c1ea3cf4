import Foundation
import Synchronization
import Testing
import Tidegate
import TidegateCore

@testable import TidegateDaemon

@Suite struct SubmittedRequestTests {
    private func refusal(_ change: (inout TaskSubmission) -> Void) -> String? {
        var submission = TaskSubmission(url: "http://a.example/x")
        change(&submission)
        do {
            _ = try submission.request()
            _ = try submission.duplicatePolicy()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("A download never becomes a program that runs as its owner")
    func modes() throws {
        #expect(self.refusal { ($0.output, $0.mode) = ("/tmp/x", "0755") } == nil)
        for mode in ["4755", "2755", "1777"] {
            #expect(
                self.refusal { ($0.output, $0.mode) = ("/tmp/x", mode) }
                    == "\"\(mode)\" has bits other than permissions (maximum \"0777\")")
        }
        let text = "tasks: [{name: a, url: \"http://a/x\", every: 1m, download: /tmp/x, mode: \"4755\"}]"
        let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error?.description.contains("has bits other than permissions") == true)
    }

    @Test("A path with a NUL would be cut off there, and is refused")
    func nul() throws {
        #expect(self.refusal { $0.output = "/tmp/a\0b" } == "\"output\" contains a NUL character")
        #expect(self.refusal { $0.bodyFile = "/etc/passwd\0.txt" } == "\"bodyFile\" contains a NUL character")
        let text = "tasks: [{name: a, url: \"http://a/x\", every: 1m, download: \"/tmp/x\\0y\"}]"
        #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
    }

    @Test("Keys and names have a bound, and a policy for duplicates needs a key")
    func names() {
        let long = String(repeating: "k", count: 1025)
        #expect(self.refusal { $0.key = long } == "\"key\" is 1025 bytes long (maximum 1024)")
        #expect(self.refusal { $0.name = long } == "\"name\" is 1025 bytes long (maximum 1024)")
        #expect(self.refusal { $0.key = String(long.dropFirst()) } == nil)
        #expect(self.refusal { $0.onDuplicate = "replace" } == "\"onDuplicate\" requires \"key\"")
        #expect(self.refusal { ($0.key, $0.onDuplicate) = ("k", "replace") } == nil)
    }

    @Test("Trust, proxy, coding and stores are those of the submission; a task without them has the daemon's")
    func options() throws {
        let plain = try TaskSubmission(url: "https://a.example/").request().options
        #expect(plain.tls == nil && plain.proxy == nil && !plain.acceptsCompression)
        #expect(plain.usesCookies == false && plain.usesValidators == false)
        var submission = TaskSubmission(url: "https://a.example/")
        let pin = "sha256//" + String(repeating: "A", count: 43) + "="
        (submission.pins, submission.caFile, submission.proxy) = ([pin], "/ca.pem", "http://p:3128")
        (submission.compressed, submission.cookies) = (true, true)
        (submission.conditional, submission.output) = (true, "/tmp/x")
        let options = try submission.request().options
        #expect(options.tls?.pins == ["*": [pin]] && options.tls?.caFile == "/ca.pem")
        #expect(options.proxy == ProxyPolicy("http://p:3128") && options.acceptsCompression)
        #expect(options.usesCookies == true && options.usesValidators == true)
        #expect(self.refusal { $0.bodyBase64 = "?" } == "\"bodyBase64\" is not Base64")
        #expect(
            self.refusal { ($0.body, $0.bodyBase64) = ("a", "YQ==") }
                == "\"body\" and \"bodyBase64\" are mutually exclusive")
        #expect(self.refusal { $0.conditional = true } == "\"conditional\" requires \"output\"")
        #expect(self.refusal { $0.proxy = "ftp://p" }?.hasPrefix("\"proxy\": ") == true)
        #expect(self.refusal { $0.pins = ["x"] }?.contains("x") == true)
    }

    @Test("Pins and authorities of a submission take nothing else from the daemon's policy")
    func trust() throws {
        var transfers = Configuration.Transfers()
        transfers.session.tls = ServerTrustPolicy(caFile: "/own.pem", pins: ["a": ["x"]])
        transfers.session.tls.crlFile = "/own.crl"
        transfers.session.tls.requiresCertificateStatus = true
        transfers.session.tls.hosts = ["h": transfers.session.tls]
        var submission = TaskSubmission(url: "https://a.example/")
        let pin = "sha256//" + String(repeating: "A", count: 43) + "="
        submission.pins = [pin]
        var request = try submission.request()
        TransferPolicies(transfers).apply(to: &request)
        var wanted = transfers.session.tls
        wanted.pins = ["*": [pin]]
        wanted.hosts["h"]?.pins = ["*": [pin]]
        #expect(request.options.tls == wanted)
    }

    @Test("A policy of redirects is one of three")
    func redirects() throws {
        var submission = TaskSubmission(url: "http://a.example/x")
        #expect(try submission.request().options.redirects == nil)
        submission.redirects = "same-origin"
        #expect(try submission.request().options.redirects == .sameOrigin)
        #expect(
            self.refusal { $0.redirects = "all" }
                == "\"redirects\": \"all\" is not one of same-origin, no-downgrade, free")
    }

    @Test("URLs, methods, header fields and paths have a bound")
    func bounds() {
        let base = "http://a.example/"
        #expect(self.refusal { $0.url = base + String(repeating: "x", count: 8192 - base.count) } == nil)
        #expect(
            self.refusal { $0.url = base + String(repeating: "x", count: 8193 - base.count) }
                == "\"url\" is 8193 bytes long (maximum 8192)")
        #expect(self.refusal { $0.method = String(repeating: "M", count: 32) } == nil)
        #expect(
            self.refusal { $0.method = String(repeating: "M", count: 33) }
                == "\"method\" is 33 bytes long (maximum 32)")
        let field = "X: " + String(repeating: "v", count: 1021)
        #expect(self.refusal { $0.headers = Array(repeating: field, count: 64) } == nil)
        #expect(
            self.refusal { $0.headers = Array(repeating: field, count: 65) }
                == "\"headers\" is 66560 bytes long (maximum 65536)")
        #expect(self.refusal { $0.output = "/" + String(repeating: "p", count: 4094) } == nil)
        #expect(
            self.refusal { $0.output = "/" + String(repeating: "p", count: 4095) }
                == "\"output\" is 4096 bytes long (maximum 4095)")
        #expect(
            self.refusal { $0.bodyFile = "/" + String(repeating: "p", count: 4095) }
                == "\"bodyFile\" is 4096 bytes long (maximum 4095)")
    }

    @Test("The state directory contains what lies in it by any name")
    func state() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let state = "\(folder)/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: state)
        let path = StateDirectoryPath(path: state)
        for inside in [state, "\(state)/x", "\(folder)/link/x", "\(folder)/link/../state/x", "\(state)/new/x"] {
            #expect(path.contains(inside), "\(inside)")
        }
        for outside in [folder, "\(folder)/x", "\(state)-other", "\(state)/../x", "/"] {
            #expect(!path.contains(outside), "\(outside)")
        }
    }

    @Test("What is being submitted counts as open until the journal has it")
    func limit() {
        let open = Mutex(1)
        let limit = OpenTaskLimit(3) { open.withLock { $0 } }
        #expect(limit.reserve() && limit.reserve())
        #expect(!limit.reserve())
        limit.release()
        #expect(limit.reserve())
        limit.release()
        open.withLock { $0 = 2 }
        #expect(!limit.reserve())
    }

    @Test("Too few descriptors for the configured connections are told at the start")
    func descriptors() {
        func check(_ limit: Int) -> String? {
            DescriptorCheck(limit: limit, listeners: 2, connectionsEach: 100, transfers: 36).warning
        }
        #expect(check(300) == nil)
        #expect(check(299)?.hasPrefix("only 299 files and sockets may be open, and up to 300 can be needed") == true)
    }
}
