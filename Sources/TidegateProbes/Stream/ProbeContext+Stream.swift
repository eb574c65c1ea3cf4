internal import TidegateAttribution
internal import TidegateCore
internal import TidegateNetwork

extension ProbeContext {
    /// The request for a socket from `source` to an address, within the probe's remaining time.
    func request(to address: ProbeAddress, port: UInt16 = 0, from source: ProbeSource) -> SocketRequest {
        var request = SocketRequest(to: address.address, port: port, within: self.remaining)
        request.source = source.address
        (request.interface, request.isCheck) = (source.interface, true)
        return request
    }

    /// Connects over TCP within the probe's remaining time.
    func connect(
        to address: ProbeAddress, port: UInt16, from source: ProbeSource = ProbeSource()
    ) async throws(TCPConnector.Failure) -> ConnectedSocket {
        let request = self.request(to: address, port: port, from: source)
        return try await self.environment.connector.connect(request, noting: self.environment.own)
    }

    /// The failure for an error of a connection; a timeout if the probe's time is over.
    func failure(_ error: any Error, during stage: Stage) -> StreamFailure {
        StreamFailure(self.remaining == .zero ? StreamError.timedOut : error, during: stage)
    }

    /// Records a failure of a connection from `source` to an address, with the responsible party.
    func record(
        _ failure: StreamFailure, at address: ProbeAddress, from source: ProbeSource = ProbeSource(),
        _ findings: inout ProbeFindings
    ) async {
        if failure.stage == .connect, source.explains(failure.socketError, at: address.address, &findings) { return }
        var evidence = self.evidence(failure.failure, at: address, from: source, stage: failure.stage)
        // The route may have changed in the meantime.
        if !source.isBound { evidence.after = await self.environment.network.route(address.address).verdict }
        (evidence.socketError, evidence.isImmediate) = (failure.socketError, failure.isImmediate)
        (evidence.refusal, evidence.local) = (failure.refusal?.error, failure.refusal?.local)
        (evidence.text, evidence.lacksClientCertificate) = (failure.text, failure.lacksClientCertificate)
        let attribution = DecisionTable.attribution(of: evidence)
        let isAboutConnection = attribution?.isAboutConnection ?? false || failure.failure == .timedOut
        findings.fail(
            ProbeFailureReason(failure.failure, failure.socketError), attribution?.party ?? .unknown,
            (isAboutConnection ? attribution?.evidence.first : nil) ?? failure.text, cause: attribution?.cause)
    }
}

extension Attribution {
    /// True if it is about how far packets get; then it says more than the socket's or libcurl's error.
    var isAboutConnection: Bool {
        switch self.rung {
        case .monitor, .interface, .carrier, .address, .route, .gateway, .internet, .tcp: true
        case .dns, .tls, .http, nil: false
        }
    }
}
