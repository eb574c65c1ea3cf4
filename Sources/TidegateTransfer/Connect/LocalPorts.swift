internal import TidegateCore

/// The open sockets of a pool by their local ports: before a request, libcurl passes its local port, and its socket only
/// afterwards.
struct LocalPorts {
    private var sockets: [(descriptor: Int32, port: UInt16)] = []
    /// Those whose ports are known and no other socket's.
    private var byPort = IntegerMap<Int32>()
    private var hasUnnamed = false

    /// A socket was opened.
    mutating func opened(_ descriptor: Int32) {
        // libcurl may have closed another one with this number without a callback.
        self.closed(descriptor)
        self.sockets.append((descriptor, 0))
        self.hasUnnamed = true
    }

    /// A socket was closed.
    mutating func closed(_ descriptor: Int32) {
        guard let index = self.sockets.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        self.index(self.sockets.remove(at: index).port)
    }

    /// The socket with a local port; nil if it is not known, or several to different hosts share the port.
    mutating func socket(at port: UInt16) -> Int32? {
        if self.hasUnnamed { self.name() }
        return self.byPort[UInt64(port)]
    }

    // A socket has no port before its connect, and then keeps the one it has.
    private mutating func name() {
        self.hasUnnamed = false
        for index in self.sockets.indices where self.sockets[index].port == 0 {
            guard let port = SocketName.localPort(of: self.sockets[index].descriptor), port != 0 else {
                self.hasUnnamed = true
                continue
            }
            self.sockets[index].port = port
            self.index(port)
        }
    }

    private mutating func index(_ port: UInt16) {
        guard port != 0 else { return }
        let equals = self.sockets.filter { $0.port == port }
        self.byPort[UInt64(port)] = equals.count == 1 ? equals[0].descriptor : nil
    }
}
