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

    /// The largest packet of four sizes in which a silent server answers, where it answers in no larger ones; else nil.
    ///
    /// Certificates and answers fill the largest packets that the link allows. If those are lost on the way, the
    /// connection is established, and nothing comes.
    func fittingPacket() async -> Int? {
        guard self.target.location != nil, self.target.proxy == nil, let address = self.addresses.first,
            await self.diagnosis.pause(for: Thresholds.patience)
        else { return nil }
        if self.target.usesTLS, !self.isSent, let size = await self.fittingPacket(to: address, .tls), !self.isSent {
            return size
        }
        guard await self.diagnosis.pause(for: Thresholds.certainty), self.isSent else { return nil }
        return await self.fittingPacket(to: address, .response)
    }

    private func fittingPacket(to address: IPAddress, _ stage: Stage) async -> Int? {
        let (least, medium, most) = (576, 1280, 1400)
        guard await self.answers(address, in: least, stage) else { return nil }
        // A slow server answers larger packets as well; several servers behind one address answer at random.
        let answers = await [least, medium, most, nil].concurrentMap { await self.answers(address, in: $0, stage) }
        guard answers[0], !answers[3], answers[1] || !answers[2] else { return nil }
        let fitting = answers[2] ? most : answers[1] ? medium : least
        // The handshake that is still waiting shows the same.
        guard stage == .response else { return Task.isCancelled ? nil : fitting }
        let again = await [fitting, nil].concurrentMap { await self.answers(address, in: $0, stage) }
        return again[0] && !again[1] && !Task.isCancelled ? fitting : nil
    }

    // Whether the server comes as far as a stage in packets of at most `size` bytes; nil is what fits the link.
    private func answers(_ address: IPAddress, in size: Int?, _ stage: Stage) async -> Bool {
        var request = HTTPCheck.Request(
            url: self.target.url, address: address, lastStage: stage == .tls ? .tls : .body,
            limit: min(self.diagnosis.rest, .seconds(1)))
        // Without the headers of IP and TCP (RFC 9293, 3.7.1).
        request.segmentSize = size.map { $0 - (address.family == .ipv4 ? 40 : 60) }
        return await self.diagnosis.diagnostics.web.check(request).hasReached(stage)
    }
}
