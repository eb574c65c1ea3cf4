internal import Synchronization
internal import Tidegate
internal import TidegateCore

/// The beginnings of response bodies that no file receives, for `tasks show --body`.
///
/// In memory, so that a restart loses them: 64 KiB of each, of the 256 tasks that received a body last.
final class KeptBodies: Sendable {
    /// How much is kept of one body; as much as a session keeps of a refused response.
    static let bytesPerBody = 64 << 10
    /// How many bodies are kept.
    static let mostBodies = 256

    private struct State {
        var bodies: [TaskID: [UInt8]] = [:]
        /// In the order of their first bytes.
        var order: [TaskID] = []
    }

    private let state = Mutex(State())

    /// Receives the bytes of a session's bodies.
    var observer: TaskObserver {
        TaskObserver(data: { task, offset, bytes in
            if task.request.destination == .discard { self.add(bytes, at: offset, of: task.id) }
        })
    }

    /// The beginning of a task's body; nil if none is kept.
    subscript(_ task: TaskID) -> [UInt8]? { self.state.withLock { $0.bodies[task] } }

    func add(_ bytes: [UInt8], at offset: Int64, of task: TaskID) {
        guard offset < KeptBodies.bytesPerBody else { return }
        self.state.withLock { state in
            if state.bodies[task] == nil {
                if state.order.count == KeptBodies.mostBodies { state.bodies[state.order.removeFirst()] = nil }
                state.order.append(task)
            }
            // Another attempt may begin at 0 again.
            let known = state.bodies[task, default: []].prefix(Int(offset))
            guard known.count == Int(offset) else { return }
            state.bodies[task] = Array(known) + bytes.prefix(KeptBodies.bytesPerBody - known.count)
        }
    }
}
