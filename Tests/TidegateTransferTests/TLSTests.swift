internal import Glibc
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("TLS", .enabled(if: TLSServer.isAvailable, "nginx or openssl is not installed"))
struct TLSTests {
    private static func request(
        _ number: UInt64, _ server: TLSServer, _ tls: TLSOptions, host: String = "localhost"
    ) throws -> AttemptRequest {
        var request = try AttemptRequest(number, server.url(host: host))
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        request.tls = tls
        return request
    }

    private static func request(to server: TestTLSServer, _ tls: TLSOptions) throws -> AttemptRequest {
        var request = try AttemptRequest(.random(in: 1 ... .max), "https://localhost:\(server.port)/")
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        request.tls = tls
        return request
    }

    @Test("A certificate is verified by its authority and its name, unless verification is turned off")
    func certificates() async throws {
        let server = try await TLSServer()
        let recorder = try AttemptRecorder()
        let good = try recorder.run(TLSTests.request(1, server, TLSOptions(caFile: server.certificate)))
        #expect(good.failure == nil)
        #expect(good.body == Array("tide".utf8))
        #expect(good.head?.version == "1.1")
        #expect(good.phases.tls != nil)
        #expect(good.phases.connect != nil)

        let unknown = try recorder.run(TLSTests.request(2, server, TLSOptions()))
        #expect(unknown.failure == .tlsFailed)
        #expect(unknown.curlCode == 60)
        #expect(!unknown.reachedWire)
        #expect(unknown.text.contains("certificate"))

        let wrongName = try TLSTests.request(3, server, TLSOptions(caFile: server.certificate), host: "tide.invalid")
        #expect(try recorder.run(wrongName).curlCode == 60)

        let insecure = try recorder.run(TLSTests.request(4, server, TLSOptions(isInsecure: true), host: "tide.invalid"))
        #expect(insecure.failure == nil)

    }

    @Test("A name in the subject alone is refused before the request if names are required")
    func subjectAlone() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.signSubject("localhost"))
        let named = try await TestTLSServer(try await authority.sign(["localhost"]))
        let recorder = try AttemptRecorder()
        var tls = TLSOptions(caFile: authority.certificate)
        tls.requiresNames = true
        #expect(try recorder.run(TLSTests.request(to: named, tls)).failure == nil)
        let refused = try recorder.run(TLSTests.request(to: server, tls))
        #expect(refused.failure == .tlsFailed && refused.certificateError == .wrongName && !refused.reachedWire)
        tls.isInsecure = true
        #expect(try recorder.run(TLSTests.request(to: server, tls)).failure == nil)
        #expect(
            try recorder.run(TLSTests.request(to: server, TLSOptions(caFile: authority.certificate))).failure == nil)
    }

    @Test("The certificate of a name beyond ASCII is that of its encoded form")
    func international() async throws {
        let server = try await TLSServer()
        let request = try TLSTests.request(1, server, TLSOptions(caFile: server.certificate), host: "Bücher.example")
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == nil, "\(outcome.text)")
        #expect(outcome.body == Array("tide".utf8))
    }

    @Test("A file of authorities that cannot be used is this host's failure, and named")
    func authorities() async throws {
        let server = try await TLSServer()
        let recorder = try AttemptRecorder()
        let folder = try Folder()
        folder.write("empty.pem", Array("no certificate\n".utf8))
        let missing = folder.path("missing.pem")
        let good = try await Program.expect(["cat", server.certificate])
        let lines = good.count { $0 == "\n" }
        let damaged = "-----BEGIN CERTIFICATE-----\nZm9v\n-----END CERTIFICATE-----\n"
        for (name, text) in [
            ("second", good + damaged + good), ("first", "# CA\r\n\(damaged)\(good)"),
            ("cut", good + String(good.prefix(200))), ("key", "\(good)-----BEGIN PRIVATE KEY-----\n!\n"),
        ] {
            folder.write(name, Array(text.utf8))
        }
        for (number, (file, reason)) in [
            (missing, "No such file or directory"), (folder.path("empty.pem"), "no certificate in PEM form in it"),
            (folder.path("second"), "its certificate 2, from line \(lines + 1) on, is damaged"),
            (folder.path("first"), "its certificate 1, from line 2 on, is damaged"),
            (folder.path("cut"), "its certificate 2, from line \(lines + 1) on, is damaged"),
            (folder.path("key"), "a part of it that is not a certificate is damaged"),
        ].enumerated() {
            let outcome = try recorder.run(TLSTests.request(UInt64(number), server, TLSOptions(caFile: file)))
            #expect(outcome.failure == .fileError)
            #expect(outcome.curlCode == 77 && outcome.curlFailureClass == .local)
            #expect(outcome.text == "the file of authorities \(file) cannot be used: \(reason)")
        }
    }

    @Test("A revoked certificate is the server's failure; a list that is missing or too old is this host's")
    func revocationList() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost"])
        let server = try await TestTLSServer(identity)
        let (good, old) = (try await authority.revocationList(), try await authority.revocationList(days: 0))
        let bad = try await authority.revocationList(revoking: identity)
        let between = try await authority.intermediate()
        let farther = try await TestTLSServer(
            try await authority.sign("localhost", by: between), arguments: ["-cert_chain", between.certificate])
        let recorder = try AttemptRecorder()
        func outcome(_ file: String, of server: TestTLSServer) throws -> AttemptOutcome {
            var tls = TLSOptions(caFile: authority.certificate)
            tls.crlFile = file
            return try recorder.run(TLSTests.request(to: server, tls))
        }
        #expect(try outcome(good, of: server).failure == nil)
        let revoked = try outcome(bad, of: server)
        #expect(revoked.failure == .tlsFailed && revoked.certificateError == .revoked && !revoked.reachedWire)
        #expect(revoked.text == "the certificate was revoked by its issuer")
        for (file, server, problem) in [
            (old, server, "its CRL has expired"), (good, farther, "it has no CRL from an issuer in the chain"),
            (identity.certificate, server, "it has no CRL in PEM form"),
            ("/nosuch.crl", server, "No such file or directory"),
        ] {
            let refused = try outcome(file, of: server)
            #expect(refused.failure == .fileError && refused.curlFailureClass == .local && !refused.reachedWire)
            #expect(refused.text == "the CRL file \(file) cannot be used: \(problem)")
        }
    }

    @Test("A stapled OCSP response is required where it is asked for, and one about a revoked certificate refuses it")
    func stapling() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost"])
        func server(_ arguments: String...) async throws -> TestTLSServer {
            try await TestTLSServer(identity, arguments: ["-cert_chain", authority.certificate] + arguments)
        }
        let good = try await server("-status_file", try await authority.status(of: identity))
        _ = try await authority.revocationList(revoking: identity)
        let (bad, silent) = (
            try await server("-status_file", try await authority.status(of: identity)), try await server()
        )
        let recorder = try AttemptRecorder()
        func outcome(_ server: TestTLSServer, isRequired: Bool = true) throws -> AttemptOutcome {
            var tls = TLSOptions(caFile: authority.certificate)
            tls.requiresStatus = isRequired
            return try recorder.run(TLSTests.request(to: server, tls))
        }
        #expect(try outcome(good).failure == nil)
        #expect(try outcome(silent, isRequired: false).failure == nil)
        let revoked = try outcome(bad)
        #expect(revoked.failure == .tlsFailed && revoked.certificateError == .revoked && !revoked.reachedWire)
        let missing = try outcome(silent)
        #expect(missing.failure == .tlsFailed && missing.certificateError == .noStatus && !missing.reachedWire)
        #expect(
            missing.text == "the server sent no OCSP response with its certificate, and this host requires one")
    }

    @Test("A pipe as the file of authorities is refused, and not waited for")
    func pipe() throws {
        let folder = try Folder()
        let pipe = folder.path("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        var request = try AttemptRequest(1, "https://127.0.0.1:1/")
        request.tls = TLSOptions(caFile: pipe)
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == .fileError)
        #expect(outcome.text == "\(pipe) is a pipe; a regular file is needed")
    }

    @Test("A pin decides even if every certificate is accepted, before a byte is sent")
    func pins() async throws {
        let server = try await TLSServer()
        let recorder = try AttemptRecorder()
        let pin = try CertificatePin(try await TestAuthority.pins(of: server.certificate).key)
        let other = try CertificatePin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        let right = TLSOptions(caFile: server.certificate, pins: [other, pin])
        #expect(try recorder.run(TLSTests.request(1, server, right)).failure == nil)
        for (number, isInsecure) in [(2, false), (3, true)] {
            let wrong = TLSOptions(caFile: server.certificate, isInsecure: isInsecure, pins: [other])
            let outcome = try recorder.run(TLSTests.request(UInt64(number), server, wrong))
            #expect(outcome.failure == .tlsPinMismatch)
            #expect(!outcome.reachedWire)
        }
    }

    @Test("A connection made without verification is not reused by a request with verification")
    func noSharing() async throws {
        let server = try await TLSServer()
        let recorder = try AttemptRecorder()
        #expect(try recorder.run(TLSTests.request(1, server, TLSOptions(isInsecure: true))).failure == nil)
        #expect(try recorder.run(TLSTests.request(2, server, TLSOptions())).failure == .tlsFailed)
    }

    @Test("HTTP/2 is used only if it is allowed, on a connection of its own for each attempt")
    func http2() async throws {
        let server = try await TLSServer()
        let recorder = try AttemptRecorder()
        for number: UInt64 in 1...4 {
            var request = try TLSTests.request(number, server, TLSOptions(caFile: server.certificate))
            request.allowsHTTP2 = true
            recorder.start(request)
        }
        for number: UInt64 in 1...4 {
            let outcome = try recorder.outcome(of: AttemptID(number))
            #expect(outcome.failure == nil)
            #expect(outcome.head?.version == "2")
            #expect(outcome.connectionsOpened == 1)
        }
        #expect(try recorder.ask { $0.pause(AttemptID(1)) } == false)
    }
}
