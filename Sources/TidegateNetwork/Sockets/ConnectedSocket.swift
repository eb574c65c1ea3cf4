internal import Glibc

/// A TCP connection that stands, which is closed with its last use.
package struct ConnectedSocket: ~Copyable {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = Glibc.close(self.descriptor) }

    /// Gives the descriptor away, to be closed by who takes it.
    package consuming func release() -> Int32 {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }
}
