internal import CCurl
internal import Glibc
internal import Testing
@testable internal import TidegateLoop
@testable internal import TidegateTransfer

@Suite("The table of libcurl's sockets")
struct SocketTableTests {
    @Test("A number that one pool closes and an older one opens in the same batch stays watched")
    func reusedNumber() throws {
        let loop = try Loop()
        let actions = SocketActions()
        let (old, new) = (
            try ConnectionPool(generation: 1, actions: actions, record: CurlCallRecord()),
            try ConnectionPool(generation: 2, actions: actions, record: CurlCallRecord())
        )
        var table = SocketTable()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        new.note(.opened(descriptor))
        new.note(.watch(descriptor: descriptor, poll: CURL_POLL_IN))
        table.apply(actions, on: loop)
        #expect(table.readiness(of: descriptor, on: loop) == .wanted(generation: 2))
        new.note(.watch(descriptor: descriptor, poll: CURL_POLL_REMOVE))
        new.note(.closed(descriptor))
        old.note(.opened(descriptor))
        old.note(.watch(descriptor: descriptor, poll: CURL_POLL_OUT))
        table.apply(actions, on: loop)
        #expect(table.readiness(of: descriptor, on: loop) == .wanted(generation: 1))
        #expect(table.openCount == 1)
        #expect(actions.entries.isEmpty)
    }
}
