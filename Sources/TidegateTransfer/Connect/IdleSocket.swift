internal import CLinux
internal import Glibc

/// Watches idle connections, and ends them in a way that libcurl notices.
enum IdleSocket {
    /// Whether bytes, an error or the end of the stream wait on a connection, which has to be silent while it is idle.
    static func hasInput(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Closes the connection of a socket; from now on reading from its descriptor gives the end of the stream.
    ///
    /// Before libcurl uses an idle connection again it peeks: 0 bytes are a closed connection, anything else a usable
    /// one, an error like ECONNRESET included. A socket that was only shut down gets that error when its peer sends
    /// more, so another socket takes its place, one whose peer is gone. The number stays open and is libcurl's.
    static func end(_ descriptor: Int32) {
        // What comes from now on is reset, if there is no descriptor for the other socket.
        shutdown(descriptor, Int32(SHUT_RDWR))
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return self.discardReceived(descriptor) }
        close(ends[1])
        // Of a failure nothing is left to do: the connection is shut down.
        _ = dup3(ends[0], descriptor, O_CLOEXEC)
        close(ends[0])
    }

    // With MSG_TRUNC TCP drops the bytes without copying them (tcp(7)); a receive buffer has fewer than this.
    private static func discardReceived(_ descriptor: Int32) {
        while recv(descriptor, nil, 64 << 20, Int32(MSG_TRUNC | MSG_DONTWAIT)) > 0 {}
    }
}
