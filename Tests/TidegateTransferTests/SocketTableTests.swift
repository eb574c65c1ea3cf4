internal import CCurl
internal import Glibc
internal import Testing
@testable internal import TidegateLoop
@testable internal import TidegateTransfer

@Suite("The table of libcurl's sockets")
struct SocketTableTests {
    @Test("A number that one epoch closes and an older one opens in the same batch stays watched")
    func reusedNumber() throws {
        let loop = try Loop()
        let journal = SocketActions()
        let (old, new) = (
            CurlCallbackContext(epoch: 1, journal: journal), CurlCallbackContext(epoch: 2, journal: journal)
        )
        var table = SocketTable()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        new.note(.opened(descriptor))
        new.note(.want(descriptor, CURL_POLL_IN))
        table.apply(journal, on: loop)
        #expect(table.epoch(ready: descriptor, on: loop) == 2)
        new.note(.want(descriptor, CURL_POLL_REMOVE))
        new.note(.closed(descriptor))
        old.note(.opened(descriptor))
        old.note(.want(descriptor, CURL_POLL_OUT))
        table.apply(journal, on: loop)
        #expect(table.epoch(ready: descriptor, on: loop) == 1)
        #expect(table.openCount == 1)
        #expect(journal.entries.isEmpty)
    }
}
