import Testing
@testable import TidegateConnections
import TidegateCore
@testable import TidegateNetwork

/// Which connections were accepted here.
struct ListenerTableTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private static func listener(_ address: String, _ port: UInt16, inode: UInt32 = 0) throws -> SocketReport {
        let none = try #require(IPAddress("0.0.0.0"))
        var report = SocketReport(
            state: .listen, local: .init(address: try #require(IPAddress(address)), port: port),
            remote: .init(address: none, port: 0))
        report.inode = inode
        return report
    }

    private static func local(_ address: String, _ port: UInt16) throws -> SocketReport.Endpoint {
        SocketReport.Endpoint(address: try #require(IPAddress(address)), port: port)
    }

    @Test("A listener on all addresses accepts at each, one on an address only there")
    func addresses() throws {
        var table = ListenerTable()
        table.replace(
            by: [try Self.listener("0.0.0.0", 80), try Self.listener("10.0.0.2", 443)], at: Self.start
        ) { _ in false }
        #expect(table.contains(try Self.local("192.0.2.1", 80), at: Self.start))
        #expect(table.contains(try Self.local("10.0.0.2", 443), at: Self.start))
        #expect(!table.contains(try Self.local("10.0.0.3", 443), at: Self.start))
        #expect(!table.contains(try Self.local("10.0.0.2", 81), at: Self.start))
    }

    @Test("A listener that is gone counts for a minute")
    func memory() throws {
        var table = ListenerTable()
        table.replace(by: [try Self.listener("::", 80)], at: Self.start) { _ in false }
        table.replace(by: [], at: Self.start) { _ in false }
        let local = try Self.local("2001:db8::2", 80)
        #expect(table.contains(local, at: Self.start + .seconds(59)))
        #expect(!table.contains(local, at: Self.start + .seconds(61)))
        table.ended(port: 81, try #require(IPAddress("::")), at: Self.start)
        #expect(table.contains(try Self.local("2001:db8::2", 81), at: Self.start + .seconds(59)))
    }

    @Test("This program's own listeners are told by their inodes")
    func own() throws {
        var table = ListenerTable()
        let reports = [try Self.listener("::", 9464, inode: 7), try Self.listener("::", 80, inode: 8)]
        table.replace(by: reports, at: Self.start) { $0 == 7 }
        #expect(table.ownPorts == [9464])
    }
}
