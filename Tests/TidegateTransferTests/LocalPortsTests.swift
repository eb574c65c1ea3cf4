internal import Glibc
internal import Testing
internal import TidegateLoop
@testable internal import TidegateTransfer

@Suite("The sockets of a pool by their local ports")
struct LocalPortsTests {
    private static func open() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }

    // Binds a socket to an address of loopback; port 0 is any.
    private static func bind(_ descriptor: Int32, to address: UInt32 = 0x7F00_0001, _ port: UInt16 = 0) throws -> UInt16
    {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = address.bigEndian
        let result = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0, "error \(errno)")
        return try #require(SocketAddress.localPort(of: descriptor))
    }

    @Test("A socket is found by its port while it is open, also if it had none when it was opened")
    func found() throws {
        var ports = LocalPorts()
        let (first, second) = (Self.open(), Self.open())
        defer {
            close(first)
            close(second)
        }
        ports.opened(first)
        ports.opened(second)
        let port = try Self.bind(second)
        #expect(ports.socket(at: port) == second)
        let later = try Self.bind(first)
        #expect(ports.socket(at: later) == first)
        ports.closed(first)
        #expect(ports.socket(at: later) == nil)
        #expect(ports.socket(at: port) == second)
    }

    @Test("Of two sockets that share a port neither is named, until one is closed")
    func shared() throws {
        var ports = LocalPorts()
        let (first, second) = (Self.open(), Self.open())
        defer {
            close(first)
            close(second)
        }
        let port = try Self.bind(first)
        #expect(try Self.bind(second, to: 0x7F00_0002, port) == port)
        ports.opened(first)
        ports.opened(second)
        #expect(ports.socket(at: port) == nil)
        ports.closed(second)
        #expect(ports.socket(at: port) == first)
    }

    @Test("A number that was closed without a callback is that of the socket opened last")
    func reusedNumber() throws {
        var ports = LocalPorts()
        let (first, second) = (Self.open(), Self.open())
        defer {
            close(first)
            close(second)
        }
        let (oldPort, newPort) = (try Self.bind(first), try Self.bind(second))
        ports.opened(first)
        #expect(ports.socket(at: oldPort) == first)
        #expect(dup2(second, first) == first && fcntl(first, F_SETFD, FD_CLOEXEC) == 0)
        ports.opened(first)
        #expect(ports.socket(at: oldPort) == nil)
        #expect(ports.socket(at: newPort) == first)
    }
}

@Suite("What waits on an idle connection")
struct IdleInputTests {
    // Two ends of a connection that does not block.
    private static func pair() throws -> (here: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    @Test("A silent connection has no input, and one with a byte has it until the byte is read")
    func bytes() throws {
        let (here, far) = try Self.pair()
        defer {
            close(here)
            close(far)
        }
        #expect(!IdleSocket.hasInput(here))
        #expect(write(far, "x", 1) == 1)
        #expect(IdleSocket.hasInput(here))
        #expect(IdleSocket.hasInput(here))
        var byte: UInt8 = 0
        #expect(recv(here, &byte, 1, 0) == 1 && byte == UInt8(ascii: "x"))
        #expect(!IdleSocket.hasInput(here))
    }

    @Test("The end and an error are input")
    func ends() throws {
        let (here, far) = try Self.pair()
        close(far)
        #expect(IdleSocket.hasInput(here))
        close(here)
        #expect(IdleSocket.hasInput(-1))
    }
}
