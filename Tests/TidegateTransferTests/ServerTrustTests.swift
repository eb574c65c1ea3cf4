internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Server trust", .enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"))
struct ServerTrustTests {
    private let authority: TestAuthority
    private let recorder: AttemptRecorder

    init() async throws {
        self.authority = try await TestAuthority()
        self.recorder = try AttemptRecorder()
    }

    private func run(
        _ number: UInt64, _ server: TestTLSServer, _ tls: TLSOptions, host: String = "tide.example"
    ) throws -> AttemptOutcome {
        var request = try AttemptRequest(number, "https://\(host):\(server.port)/")
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        request.tls = tls
        return try self.recorder.run(request)
    }

    @Test("A pin matches the leaf, an intermediate certificate or the authority, by key or fingerprint")
    func pinsInChain() async throws {
        let intermediate = try await self.authority.intermediate()
        let leaf = try await self.authority.sign("tide.example", by: intermediate)
        let server = try await TestTLSServer(leaf, arguments: ["-cert_chain", intermediate.certificate])
        var number: UInt64 = 0
        for certificate in [leaf.certificate, intermediate.certificate, self.authority.certificate] {
            let pins = try await TestAuthority.pins(of: certificate)
            for pin in [pins.key, pins.fingerprint, pins.fingerprint.filter { $0 != ":" }] {
                number += 1
                let tls = TLSOptions(caFile: self.authority.certificate, pins: [try CertificatePin(pin)])
                let outcome = try self.run(number, server, tls)
                #expect(outcome.failure == nil, "\(pin): \(outcome.text)")
            }
        }
        let other = try await TestAuthority()
        let stranger = try await TestAuthority.pins(of: other.certificate).key
        let outcome = try self.run(
            100, server, TLSOptions(caFile: self.authority.certificate, pins: [try CertificatePin(stranger)]))
        #expect(outcome.failure == .tlsPinMismatch)
        #expect(!outcome.reachedWire)
        let own = try await TestAuthority.pins(of: leaf.certificate).key
        #expect(outcome.text == "none of the 3 certificates of tide.example is pinned; its own key is \(own)")
    }

    @Test("A certificate that a server only sends along is not matched while nothing vouches for it")
    func unverifiedChain() async throws {
        let stranger = try await TestAuthority()
        let server = try await TestTLSServer(
            try await self.authority.selfSigned("tide.example"), arguments: ["-cert_chain", stranger.certificate])
        let pin = try CertificatePin(try await TestAuthority.pins(of: stranger.certificate).key)
        let outcome = try self.run(1, server, TLSOptions(isInsecure: true, pins: [pin]))
        #expect(outcome.failure == .tlsPinMismatch)
        #expect(!outcome.reachedWire)
    }

    @Test("A request is checked on a connection that another one made")
    func reuse() async throws {
        let server = try await TLSServer()
        let trusting = TLSOptions(caFile: server.certificate)
        var request = try AttemptRequest(1, server.url())
        request.tls = trusting
        #expect(try self.recorder.run(request).failure == nil)
        for number: UInt64 in 2...3 {
            request = try AttemptRequest(number, server.url())
            request.tls = trusting
            if number == 3 {
                request.tls.pins = [try CertificatePin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")]
            }
            let outcome = try self.recorder.run(request)
            #expect(outcome.connectionsOpened == 0)
            #expect(outcome.tls?.chain.first?.names.first == "localhost")
            #expect(outcome.failure == (number == 3 ? .tlsPinMismatch : nil))
        }
    }

    @Test(
        "Every attempt knows what its server showed, one that was refused as well",
        arguments: TestAuthority.Validity.allCases)
    func details(_ validity: TestAuthority.Validity) async throws {
        let server = try await TestTLSServer(try await self.authority.sign(["tide.example"], validity))
        let outcome = try self.run(1, server, TLSOptions(caFile: self.authority.certificate))
        let tls = try #require(outcome.tls)
        #expect(tls.version == "TLSv1.3")
        #expect(tls.cipher.hasPrefix("TLS_"))
        #expect(
            tls.chain.map(\.subject)
                == ["CN = tide.example", "CN = Test Authority"].prefix(validity == .now ? 2 : 1).map(\.self))
        let own = try #require(tls.chain.first)
        #expect(own.issuer == "CN = Test Authority")
        #expect(own.names == ["tide.example"])
        #expect(own.fingerprint.count == 64)
        #expect((try? CertificatePin(own.fingerprint)) != nil && (try? CertificatePin(own.publicKeyPin)) != nil)
        let year = validity == .past ? "2024-02-01" : "2045-01-01"
        #expect(own.expiry?.description.hasPrefix(year) == true, "\(own.notAfter)")
        switch validity {
        case .now: #expect(outcome.failure == nil && outcome.certificateError == nil)
        case .past: #expect(outcome.failure == .tlsFailed && outcome.certificateError == .expired)
        case .future: #expect(outcome.failure == .tlsFailed && outcome.certificateError == .notYetValid)
        }
        #expect(outcome.reachedWire == (validity == .now))
    }

    @Test("A certificate of another name is accepted only if names are not looked at")
    func names() async throws {
        let server = try await TestTLSServer(try await self.authority.sign(["other.example"]))
        let outcome = try self.run(1, server, TLSOptions(caFile: self.authority.certificate))
        #expect(outcome.failure == .tlsFailed && outcome.certificateError == .wrongName && !outcome.reachedWire)
        let lax = TLSOptions(caFile: self.authority.certificate, verifiesName: false)
        #expect(try self.run(2, server, lax).failure == nil)
    }

    @Test("A client certificate is shown; without it, or with a stranger's, the failure says so")
    func clientCertificate() async throws {
        let server = try await TestTLSServer(
            try await self.authority.sign(["tide.example"]),
            arguments: ["-Verify", "1", "-verify_return_error", "-CAfile", self.authority.certificate])
        let own = try await self.authority.sign(["client"])
        var tls = TLSOptions(caFile: self.authority.certificate)
        let missing = try self.run(1, server, tls)
        #expect(missing.failure == .tlsFailed && missing.lacksClientCertificate)
        #expect(missing.text == "the server requires a client certificate, and none is configured for it")
        tls.clientCertificate = own.certificate
        tls.clientKey = own.key
        #expect(try self.run(2, server, tls).failure == nil)
        let stranger = try await self.authority.selfSigned("client")
        tls.clientCertificate = stranger.certificate
        tls.clientKey = stranger.key
        let refused = try self.run(3, server, tls)
        #expect(refused.failure == .tlsFailed && refused.lacksClientCertificate)
        #expect(refused.text == "the server refused the client certificate \(stranger.certificate)")
    }

    @Test("A client certificate that cannot be used is this host's failure, and the file is named")
    func badClientFiles() async throws {
        let server = try await TestTLSServer(try await self.authority.sign(["tide.example"]))
        let (own, other) = (try await self.authority.sign(["a"]), try await self.authority.sign(["b"]))
        let folder = try Folder()
        folder.write("empty.pem", Array("nothing\n".utf8))
        let (missing, empty) = (folder.path("missing.pem"), folder.path("empty.pem"))
        for (number, (certificate, key, text)) in [
            (missing, own.key, "the client certificate \(missing) cannot be used: No such file or directory"),
            (own.certificate, missing, "the client key \(missing) cannot be used: No such file or directory"),
            (empty, own.key, "the client certificate \(empty) cannot be used: no certificate in PEM form in it"),
            (
                own.certificate, empty,
                "the client key \(empty) cannot be used: no key in PEM form without a passphrase in it"
            ),
            (
                own.certificate, other.key,
                "the client key \(other.key) is not that of the certificate \(own.certificate)"
            ),
        ].enumerated() {
            let tls = TLSOptions(
                caFile: self.authority.certificate, clientCertificate: certificate, clientKey: key)
            let outcome = try self.run(UInt64(number), server, tls)
            #expect(outcome.failure == .fileError && outcome.curlFailureClass == .local)
            #expect(outcome.text == text)
        }
    }

    @Test("A hook judges in place of the verification, also on a kept connection, and pins still have to match")
    func evaluator() async throws {
        let server = try await TestTLSServer(try await self.authority.selfSigned("other.example"))
        let seen = Mutex<[ServerTrust]>([])
        func answering(_ verdict: ServerTrustVerdict) -> TLSOptions {
            TLSOptions(
                evaluator: TrustEvaluator { trust in
                    seen.withLock { $0.append(trust) }
                    return verdict
                })
        }
        #expect(try self.run(1, server, answering(.trusted)).failure == nil)
        let refused = try self.run(2, server, answering(.refused("it is not ours")))
        #expect(refused.failure == .tlsFailed && !refused.reachedWire)
        #expect(refused.text == "the app does not trust tide.example: it is not ours")
        let verified = try self.run(3, server, answering(.verified))
        #expect(verified.failure == .tlsFailed && !verified.reachedWire)
        #expect(verified.text == "the certificate is self-signed (CN = other.example)")
        var pinned = answering(.trusted)
        pinned.pins = [try CertificatePin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")]
        #expect(try self.run(4, server, pinned).failure == .tlsPinMismatch)
        #expect(try self.run(5, server, TLSOptions()).failure == .tlsFailed, "no other request profits from it")
        let trusts = seen.withLock { $0 }
        #expect(trusts.count == 4)
        #expect(Set(trusts).count == 1, "the same values for the same server")
        #expect(trusts.first?.host == "tide.example")
        #expect(trusts.first?.certificates.first?.isEmpty == false)
    }

    @Test("A hook's refusal holds where nothing else is verified, and nothing is sent")
    func refusalWithoutVerification() async throws {
        let server = try await TestTLSServer(try await self.authority.selfSigned("tide.example"))
        let tls = TLSOptions(isInsecure: true, evaluator: TrustEvaluator { _ in .refused("it is not ours") })
        for number in 1...2 {
            let outcome = try self.run(UInt64(number), server, tls)
            #expect(outcome.failure == .tlsFailed && !outcome.reachedWire)
            #expect(outcome.text == "the app does not trust tide.example: it is not ours")
        }
    }

    @Test("What a hook did not object to is still checked against the name")
    func evaluatorLeavesNames() async throws {
        let server = try await TestTLSServer(try await self.authority.sign(["other.example"]))
        let tls = TLSOptions(caFile: self.authority.certificate, evaluator: TrustEvaluator { _ in .verified })
        let outcome = try self.run(1, server, tls)
        #expect(outcome.failure == .tlsFailed && !outcome.reachedWire)
        #expect(outcome.text == "the certificate is for other.example and not for tide.example")
        #expect(try self.run(2, server, tls, host: "other.example").failure == nil)
    }
}
