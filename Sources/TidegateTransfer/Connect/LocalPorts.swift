/// The open sockets of a pool by their local ports: before a request, libcurl passes its local port, and its socket only
/// afterwards.
struct LocalPorts {
    // Searched from end to end: libcurl, too, looks at each connection to a host before it takes one.
    private var sockets: [(descriptor: Int32, port: UInt16)] = []

    /// A socket was opened.
    mutating func opened(_ descriptor: Int32) {
        // libcurl may have closed another one with this number without a callback.
        self.closed(descriptor)
        self.sockets.append((descriptor, 0))
    }

    /// A socket was closed.
    mutating func closed(_ descriptor: Int32) { self.sockets.removeAll { $0.descriptor == descriptor } }

    /// The socket with a local port; nil if it is not known, or several to different hosts share the port.
    mutating func socket(at port: UInt16) -> Int32? {
        var found: Int32?
        for index in self.sockets.indices {
            let descriptor = self.sockets[index].descriptor
            // A socket has no port before its connect, and then keeps the one it has.
            if self.sockets[index].port == 0 { self.sockets[index].port = SocketName.localPort(of: descriptor) ?? 0 }
            guard self.sockets[index].port == port else { continue }
            guard found == nil else { return nil }
            found = descriptor
        }
        return found
    }
}
