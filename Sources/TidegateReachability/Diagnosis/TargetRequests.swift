internal import Synchronization
internal import TidegateAttribution
internal import TidegateCore

/// The checks of one target at some of its addresses, with their results so far.
final class TargetRequests: Sendable {
    private let diagnosis: PathDiagnosis
    private let target: ExplainTarget
    private let stage: Stage
    private let addresses: [IPAddress]
    private let start: MonotonicTime
    private let sent = Mutex<Set<IPAddress>>([])

    /// The segment size that every link of an IPv4 path must carry: 576 bytes without the headers (RFC 9293, 3.7.1).
    private static let smallSegment = 536

    /// Nil if there is nothing to check: no address, or a target without a port.
    init?(_ diagnosis: PathDiagnosis, _ target: ExplainTarget, at addresses: [IPAddress]) {
        guard let stage = target.lastStage, !addresses.isEmpty else { return nil }
        self.diagnosis = diagnosis
        self.target = target
        self.stage = stage
        self.addresses = addresses
        self.start = diagnosis.now
    }

    /// The time since the first packet was sent.
    var duration: Duration { self.diagnosis.now - self.start }

    /// True once a request has been sent to an address: the server has it and may take its time.
    var isSent: Bool { self.sent.withLock { !$0.isEmpty } }

    /// True if a server that accepts connections has not completed its part of a TLS handshake.
    func isInHandshake(_ path: PathFindings) -> Bool {
        guard let how = path.walk?.arrival?.how, how == .connected else { return false }
        return self.target.usesTLS && self.target.proxy == nil && !self.isSent
    }

    private enum End: Sendable {
        case answered(IPAddress, HTTPCheck.Result)
        case timeIsUp
    }

    /// The result at each address.
    ///
    /// When one address works, an address that has not accepted a connection gets no more than
    /// ``Thresholds/certainty``.
    func results() async -> [IPAddress: HTTPCheck.Result] {
        await withTaskGroup(of: End.self) { group in
            for address in self.addresses {
                let request = self.request(address)
                group.addTask { .answered(address, await self.result(request)) }
            }
            var answers: [IPAddress: HTTPCheck.Result] = [:]
            var isEnding = false
            for await end in group {
                switch end {
                case .answered(let address, let answer): answers[address] = answer
                case .timeIsUp: if !self.isSent(besides: answers.keys) { group.cancelAll() }
                }
                if answers.count == self.addresses.count { group.cancelAll() }
                guard !isEnding, answers.values.contains(where: { WebRungs.failure($0, self.stage) == nil }) else {
                    continue
                }
                isEnding = true
                group.addTask {
                    _ = await self.diagnosis.pause(for: Thresholds.certainty - self.duration)
                    return .timeIsUp
                }
            }
            return answers
        }
    }

    private func isSent(besides answered: some Sequence<IPAddress>) -> Bool {
        self.sent.withLock { !$0.subtracting(answered).isEmpty }
    }

    private func request(_ address: IPAddress) -> HTTPCheck.Request {
        var request = HTTPCheck.Request(
            url: self.target.url, address: address, lastStage: self.stage, limit: self.diagnosis.rest)
        request.connectLimit = Thresholds.resolution
        request.proxy = self.target.location == nil ? nil : self.target.proxy
        return request
    }

    private func result(_ request: HTTPCheck.Request) async -> HTTPCheck.Result {
        let address = request.address
        var answer = await self.diagnosis.diagnostics.web.check(request) {
            self.sent.withLock { _ = $0.insert(address) }
        }
        // A router searches for a host for three seconds before it reports the same error again.
        if answer.reached == nil, answer.failure == .timedOut || answer.failure == .cancelled,
            let earlier = self.target.answered[address]
        {
            return earlier
        }
        let isLate = answer.failure == .timedOut && answer.hasReached(.connect)
        guard answer.failure == .cancelled || isLate else { return answer }
        // The request was cancelled because other findings explain the silence.
        answer.failure = .timedOut
        let time = self.duration.shortText
        answer.text =
            answer.hasReached(.connect)
            ? "\(address) accepted the connection, then nothing came for \(time)"
            : "\(address) did not answer within \(time)"
        return answer
    }

    /// Whether a handshake in small packets succeeds with a server that was silent for larger ones.
    ///
    /// A server's certificates fill the largest packets that the link allows. If those are lost on the way, the
    /// handshake hangs although the connection is established.
    func smallPacketsPass() async -> Bool {
        guard self.target.location?.scheme == .https, let address = self.addresses.first,
            await self.diagnosis.pause(for: Thresholds.patience), !self.isSent
        else { return false }
        var request = HTTPCheck.Request(
            url: self.target.url, address: address, lastStage: .tls, limit: min(self.diagnosis.rest, .seconds(1)))
        request.segmentSize = TargetRequests.smallSegment
        // A server that has answered larger packets by now was only slow.
        return await self.diagnosis.diagnostics.web.check(request).hasReached(.tls) && !self.isSent
    }
}
