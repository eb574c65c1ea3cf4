internal import Synchronization
internal import TidegateCore
internal import TidegateSession
internal import TidegateTestKit

/// Tasks of several kinds as fast as they go, so many at a time: each one's end makes the next one.
final class Load: Sendable {
    private let session: Session
    private let server: LiveServer
    private let state: Mutex<State>

    private struct State {
        var unstarted: Int
        var unfinished: Int
        var waiting: CheckedContinuation<Void, Never>?
    }

    /// A load of `count` tasks against a server that answers as ``answer(to:)`` does.
    init(_ count: Int, on session: Session, at server: LiveServer) {
        self.session = session
        self.server = server
        self.state = Mutex(State(unstarted: count, unfinished: count))
    }

    /// What the server says: mostly yes, sometimes to wait, to look elsewhere, or no.
    static func answer(to request: LiveServerRequest) -> LiveServerAnswer {
        switch request.path {
        case "/moved": .respond(302, ["Location: /here"])
        case "/gone": .respond(404, text: "gone")
        case "/broken": .respond(500, text: "broken")
        default: request.number.isMultiple(of: 41) ? .respond(503, text: "busy") : .respond(text: "0123456789")
        }
    }

    /// Waits for the end of all.
    func run(inFlight: Int) async {
        await withCheckedContinuation { waiting in
            self.state.withLock { $0.waiting = waiting }
            for _ in 0..<inFlight { self.start() }
        }
    }

    private func start() {
        let number = self.state.withLock { state -> Int? in
            guard state.unstarted > 0 else { return nil }
            state.unstarted -= 1
            return state.unstarted
        }
        guard let number, let request = try? self.request(number) else { return }
        self.session.makeTask(request) { _, _ in self.ended() }.resume()
    }

    private func request(_ number: Int) throws -> TaskRequest {
        switch number % 20 {
        case 1: try TaskRequest(url: self.server.url("/moved"))
        case 2: try TaskRequest(url: self.server.url("/gone?token=1"))
        case 3: try TaskRequest(url: self.server.url("/broken"))
        case 4, 5: try TaskRequest(url: self.server.url("/put"), method: "PUT", body: .data([1, 2, 3, 4]))
        // No server listens there.
        case 6: try TaskRequest(url: "http://127.0.0.1:1/")
        default: try TaskRequest(url: self.server.url("/here"))
        }
    }

    private func ended() {
        let waiting = self.state.withLock { state in
            state.unfinished -= 1
            return state.unfinished == 0 ? state.waiting.take() : nil
        }
        guard let waiting else { return self.start() }
        waiting.resume()
    }
}
