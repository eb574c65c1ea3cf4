internal import FoundationEssentials
internal import HTTPTypes
internal import NIOCore
internal import NIOHPACK
internal import TidegateCore

/// A probe that calls gRPC's health service once.
struct GRPCProbe: TargetProbe {
    let options: GRPCProbeOptions
    let context: ProbeContext

    func run(_ text: String, _ findings: inout ProbeFindings) async throws(ProbeProblem) {
        findings.declare(.grpcTLS, .grpcStatus)
        findings.set(.grpcDuration, 0, labels: ["resolve"])
        let target = try ProbeProblem.catching(.invalidTarget) { try Self.target(of: text) }
        let tls = try ProbeProblem.catching(.fileError) {
            self.options.usesTLS ? try TLSClient(self.options.tls, host: target.host, protocols: ["h2"]) : nil
        }
        let address = try await self.context.address(
            of: HTTPURL(scheme: self.options.usesTLS ? .https : .http, target: target).target,
            preferring: self.options.family, timing: .grpcDuration, &findings)
        let call = GRPCCall(
            fields: self.fields(for: target), message: HealthMessage.request(service: self.options.service), tls: tls)
        for status in HealthMessage.ServingStatus.known {
            findings.set(.grpcHealth, 0, labels: [status.description])
        }
        let start = self.context.environment.time.monotonic()
        let failure = await self.make(call, at: address, port: self.port(of: target), &findings)
        let duration = self.context.environment.time.monotonic() - start
        findings.set(.grpcDuration, duration.inSeconds, labels: ["check"])
        await self.record(failure, at: address, &findings)
    }

    func subject(of text: String, at address: IPAddress, redirectedTo _: UInt16?) -> ProbeSubject? {
        .address(address, port: (try? Self.target(of: text)).map(self.port))
    }

    // MARK: The call

    /// `HOST`, `HOST:PORT`, or an http or https URL with them; the module decides about TLS, not the URL's scheme.
    private static func target(of text: String) throws -> Target {
        let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) } ?? ""
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }
        // With another scheme the whole text is invalid; anything may follow the host, as in blackbox_exporter.
        guard !authority.hasSuffix(":") || !rest.dropFirst(authority.count).hasPrefix("//") else {
            return try Target(probed: text)
        }
        return try Target(String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority))
    }

    private func port(of target: Target) -> UInt16 { target.port ?? (self.options.usesTLS ? 443 : 80) }

    private func fields(for target: Target) -> HPACKHeaders {
        // The server name of the handshake is also the authority of the call, as in blackbox_exporter.
        let name = self.options.usesTLS ? self.options.tls.serverName ?? target.host : target.host
        let host = IPAddress(name)?.family == .ipv6 ? "[\(name)]" : name
        var fields: HPACKHeaders = [
            ":method": "POST", ":scheme": self.options.usesTLS ? "https" : "http", ":path": HealthMessage.path,
            ":authority": self.options.usesTLS ? host : "\(host):\(self.port(of: target))",
            "content-type": "application/grpc",
            "te": "trailers", "user-agent": "Tidegate/\(self.context.environment.version)",
            // At most eight digits.
            "grpc-timeout": "\(min(99_999_999, max(1, Int(self.context.remaining.inSeconds * 1000))))m",
        ]
        for field in self.options.metadata {
            let name = field.name.canonicalName
            let value = name.hasSuffix("-bin") ? Data(field.value.utf8).base64EncodedString() : field.value
            fields.add(name: name, value: value, indexing: .neverIndexed)
        }
        return fields
    }

    // MARK: The result

    // The failure with its stage; nil if there was none.
    private func make(
        _ call: GRPCCall, at address: ProbeAddress, port: UInt16, _ findings: inout ProbeFindings
    ) async -> (error: any Error, stage: Stage)? {
        var stage = Stage.connect
        do {
            let socket = try await self.context.connect(to: address, port: port)
            let connection = try await call.start(on: socket, within: self.context.remaining)
            defer { connection.channel.close(promise: nil) }
            findings.note("Successfully dialed")
            if let tls = call.tls, let handshake = connection.handshake {
                stage = .tls
                let chain = try await tls.chain(after: handshake)
                findings.set(.grpcTLS, 1)
                if let chain { findings.record(chain) }
            }
            stage = .response
            let health = try await connection.health.get()
            findings.set(.grpcHealth, 1, labels: [health.description])
            findings.note("Health check answered", [("serving_status", "\(health)")])
            if health != .serving {
                let service = self.options.service.isEmpty ? "the server" : "\"\(self.options.service)\""
                findings.fail(.notServing, .theirs, "\(service) says \(health)")
            }
            return nil
        } catch {
            return (error, stage)
        }
    }

    private func record(
        _ failure: (error: any Error, stage: Stage)?, at address: ProbeAddress, _ findings: inout ProbeFindings
    ) async {
        guard let (error, stage) = failure else { return }
        if self.context.remaining != .zero, let error = error as? GRPCError {
            findings.set(.grpcStatus, Double(error.status.code))
            findings.note("The call has no health", [("grpc_status", "\(error.status)")])
            return findings.fail(error.reason, error.party, error.text)
        }
        let failure = self.context.failure(error, during: stage)
        findings.set(
            .grpcStatus,
            Double((failure.failure == .timedOut ? GRPCStatus.deadlineExceeded : .unavailable).code))
        await self.context.record(failure, at: address, &findings)
    }
}
