import Testing
import TidegateTestKit

@testable import TidegateNetwork

@Suite struct InterfaceBytesTests {
    private static let file = """
        Inter-|   Receive                                                |  Transmit
         face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
            lo:   84000     100    0    0    0     0          0         0    84000     100    0    0    0     0       0          0
          eth0: 1907346    4150    0    2    0     0          0         0   222333    1950    0    0    0     0       0          0
        eth0.7:      12       1    0    0    0     0          0         0       34       1    0    0    0     0       0          0
        short: 1 2 3
        """

    @Test("The bytes of an interface are those of its line in /proc/net/dev")
    func parsing() throws {
        let bytes = try #require(InterfaceBytes(of: "eth0", in: Self.file))
        #expect(bytes.received == 1_907_346 && bytes.sent == 222_333)
        #expect(InterfaceBytes(of: "eth0.7", in: Self.file)?.sent == 34)
        #expect(InterfaceBytes(of: "eth", in: Self.file) == nil && InterfaceBytes(of: "short", in: Self.file) == nil)
    }

    @Test("The busier direction counts")
    func most() throws {
        let before = try #require(InterfaceBytes(of: "eth0", in: Self.file))
        var after = before
        after.received += 10
        after.sent += 4000
        #expect(after.most(since: before) == 4000)
    }

    @Test("The kernel's own file has the loopback interface")
    func live() {
        #expect(InterfaceBytes(of: "lo") != nil)
        #expect(InterfaceBytes(of: "none") == nil)
    }
}
