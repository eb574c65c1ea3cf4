internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// Looks under way, on their thread.
final class CheckClient: TransferClient {
    enum Command: Sendable {
        case look(Order)
        case giveUp(AttemptID)
    }

    struct Order: Sendable {
        let request: AttemptRequest
        let limit: Duration
        let body: BodyPrefix
        let isGivenUp: CancellationFlag
        let completion: @Sendable (CheckEnd) -> Void
    }

    private struct Look {
        let order: Order
        let timer: TransferTimer
        var hasHead = false
        var isEnough = false
    }

    private let engine: TransferEngine
    private var looks: [AttemptID: Look] = [:]

    init(engine: TransferEngine) { self.engine = engine }

    func receive(_ command: Command) {
        switch command {
        case .look(let order): self.begin(order)
        case .giveUp(let id): self.engine.end(id, as: .cancelled, CheckClient.unwanted)
        }
    }

    private static let unwanted = "nobody waits for the answer any more"

    private func begin(_ order: Order) {
        guard !order.isGivenUp.value.load(ordering: .acquiring) else {
            return order.completion(CheckEnd(text: CheckClient.unwanted))
        }
        do throws(CurlError) {
            try self.engine.start(order.request)
        } catch {
            return order.completion(CheckEnd(text: error.text))
        }
        // libcurl's own limit of the connection comes first, and knows more.
        let timer = self.engine.schedule(after: order.limit + .milliseconds(20), token: order.request.id.rawValue)
        self.looks[order.request.id] = Look(order: order, timer: timer)
    }

    func attempt(_ id: AttemptID, reported report: AttemptReport) {
        switch report {
        case .wireReached, .progress: break
        case .head:
            self.looks[id]?.hasHead = true
            self.stopIfEnough(id)
        case .finished(let outcome): self.finish(id, outcome)
        }
    }

    private func stopIfEnough(_ id: AttemptID) {
        guard let look = self.looks[id], look.hasHead, !look.isEnough, look.order.body.isFull else { return }
        self.looks[id]?.isEnough = true
        self.engine.end(id, as: .cancelled, "seen enough")
    }

    private func finish(_ id: AttemptID, _ outcome: AttemptOutcome) {
        guard let look = self.looks.removeValue(forKey: id) else { return }
        self.engine.cancel(look.timer)
        look.order.completion(
            CheckEnd(outcome: outcome, body: look.order.body.bytes, isEnough: look.isEnough))
    }

    func timerFired(_ token: UInt64) {
        self.engine.end(AttemptID(rawValue: token), as: .timedOut, "no answer in time")
    }

    func batchEnded() {
        for id in self.looks.keys { self.stopIfEnough(id) }
    }

    func stopping() {
        for look in self.looks.values { look.order.completion(CheckEnd(text: "the checker has ended")) }
        self.looks = [:]
    }
}
