internal import CCurl
internal import CLinux
internal import Glibc
internal import Synchronization

/// libcurl's sockets that are open, so that another thread can shut one down without meeting another file.
final class OpenSockets: Sendable {
    private let sockets = Mutex<[Int32: Int]>([:])

    /// A socket of the pool with this generation was opened.
    func opened(_ descriptor: Int32, generation: Int) { self.sockets.withLock { $0[descriptor] = generation } }

    /// Closes a socket; its number is another file's only after it was forgotten here.
    func close(_ descriptor: Int32) -> Int32 {
        self.sockets.withLock { sockets in
            sockets[descriptor] = nil
            return Glibc.close(descriptor)
        }
    }

    /// Shuts a socket down (shutdown(2)), or all of the pool with this generation: reads and writes end.
    func shutDown(_ descriptor: Int32?, generation: Int) {
        self.sockets.withLock { sockets in
            for (open, owner) in sockets where owner == generation && open == descriptor ?? open {
                shutdown(open, Int32(SHUT_RDWR))
            }
        }
    }
}
