internal import TidegateCore
internal import TidegateNetwork

extension ProbeContext {
    /// Connects over TCP, within what is left of the probe's time.
    func connect(
        to address: ProbeAddress, port: UInt16, from source: ProbeSource = ProbeSource()
    ) async throws(TCPConnector.Failure) -> ConnectedSocket {
        var request = TCPConnector.Request(to: address.address, port: port, within: self.remaining)
        request.source = source.address
        request.interface = source.interface
        return try await self.environment.connector.connect(request, noting: self.environment.own)
    }

    /// Records a failure of a connection from `source` to an address, and whose it was.
    func record(
        _ failure: StreamFailure, at address: ProbeAddress, from source: ProbeSource = ProbeSource(),
        _ findings: inout ProbeFindings
    ) async {
        if failure.stage == .connect, source.explains(failure.socketError, at: address.address, &findings) { return }
        let network = self.environment.network
        // Of another way out a diagnosis says nothing.
        let found = source.isBound ? nil : network.diagnosis(address.address.family)
        // The kernel may have changed its mind meanwhile.
        let after = source.isBound ? address.verdict : await network.route(address.address).verdict
        var evidence = FailureEvidence(
            failure: failure.failure, stage: failure.stage, socketError: failure.socketError,
            refusal: failure.refusal?.error, peer: address.address, local: failure.refusal?.local,
            isImmediate: failure.isImmediate, text: failure.text, before: address.verdict, after: after,
            gateway: found?.gateway ?? .unknown,
            witnesses: found?.witnesses ?? [])
        evidence.lacksClientCertificate = failure.lacksClientCertificate
        let attribution = FaultClassifier.attribution(of: evidence)
        let isAboutConnection = attribution?.isAboutConnection ?? false || failure.failure == .timedOut
        findings.fail(
            ProbeFailureReason(failure.failure), attribution?.party ?? .unknown,
            (isAboutConnection ? attribution?.evidence.first : nil) ?? failure.text)
    }
}

extension Attribution {
    /// True if it is about how far packets come, of which it says more than the socket or libcurl.
    var isAboutConnection: Bool {
        switch self.rung {
        case .monitor, .interface, .carrier, .address, .route, .gateway, .internet, .tcp: true
        case .dns, .tls, .http, nil: false
        }
    }
}
