internal import Tidegate

/// Asks hosts whether they answer, for conditions that want more than a route.
struct HostChecks: Sendable {
    private let look: Look
    private let family: AddressFamily?
    private let connector = ConnectCheck()
    private static let limit: Duration = .seconds(3)

    init(_ look: Look, family: AddressFamily?) {
        self.look = look
        self.family = family
    }

    /// The check of a condition; pending where it has none, or while there is no path to try it on.
    func result(for condition: WaitCondition, in status: ReachabilityStatus) async -> HostCheckResult {
        guard case .host(let target, let check?) = condition, let port = target.port,
            let entry = status.targets.first(where: { $0.target == target }), entry.verdict.level >= .routed
        else { return .pending }
        let addresses = entry.addresses.filter { $0.verdict.level >= .routed }.map(\.address)
            .filter { self.family == nil || $0.family == self.family }
        guard !addresses.isEmpty else { return .pending }
        let connection = await self.connector.connect(to: addresses, port: port, within: HostChecks.limit)
        guard connection == .passed else { return connection }
        switch check {
        case .tcp: return .passed
        case .tls: return await self.ask("https://\(target)/", isAnyAnswerGood: true)
        case .http: return await self.ask("\(port == 443 ? "https" : "http")://\(target)/", isAnyAnswerGood: false)
        }
    }

    // A request of its own session, which neither waits nor tries again.
    private func ask(_ url: String, isAnyAnswerGood: Bool) async -> HostCheckResult {
        guard var request = try? TaskRequest(url: url, method: "HEAD"),
            let session = try? Session(
                .standard, bus: EventBus(time: self.look.time), paths: self.look.monitor, resolver: self.look.resolver,
                time: self.look.time, generator: SystemRandomNumberGenerator())
        else { return .failed(.monitorDown) }
        request.destination = .discard
        request.gate = .open
        request.retry = .never
        request.maxRedirects = 0
        request.deadline = HostChecks.limit
        let task = session.task(request)
        task.resume()
        let result = await task.result()
        await session.invalidate(cancellingTasks: true)
        return HostChecks.judge(result, isAnyAnswerGood: isAnyAnswerGood)
    }

    /// What an answer says; a server that does not know HEAD is a server nevertheless.
    static func judge(_ result: TaskResult, isAnyAnswerGood: Bool) -> HostCheckResult {
        if let status = result.status {
            return isAnyAnswerGood || status < 400 || status == 405 || status == 501 ? .passed : .failed(.httpError)
        }
        switch result.failure {
        case nil: return .passed
        case .tlsFailed, .tlsPinMismatch: return .failed(.tlsFailed)
        case .timedOut, .deadlineExceeded, .stalled: return .failed(.timeout)
        case .connectFailed: return .failed(.refused)
        case .resolveFailed: return .failed(.nameNotFound)
        case .reset, .protocolError, .truncated, .tooLarge, .httpStatus, .rangeMismatch, .digestMismatch, .bodyChanged,
            .outcomeUnknown, .gateTimeout, .retriesExhausted, .cancelled, .invalidRequest, .fileError, .diskFull,
            .internal:
            return isAnyAnswerGood && result.failure == .protocolError ? .passed : .failed(.httpError)
        }
    }
}
