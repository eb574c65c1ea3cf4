import Testing

@testable import TidegateNetwork

/// Events of inotify, complete and truncated.
@Suite struct DirectoryEventsTests {
    private func event(_ watch: UInt8, _ mask: UInt8, _ name: [UInt8], length: UInt8? = nil) -> [UInt8] {
        [watch, 0, 0, 0, mask, 0, 0, 0, 9, 9, 9, 9, length ?? UInt8(name.count), 0, 0, 0] + name
    }

    @Test("Several events are decoded in order")
    func events() {
        let name = Array("resolv.conf".utf8) + [0, 0, 0, 0, 0]
        let events = DirectoryEvents.read((self.event(1, 8, name) + self.event(2, 4, []))[...])
        #expect(
            events == [
                DirectoryEvents.Event(watch: 1, mask: 8, name: "resolv.conf"),
                DirectoryEvents.Event(watch: 2, mask: 4, name: ""),
            ])
    }

    @Test("A truncated event is ignored")
    func broken() {
        let whole = self.event(1, 8, Array("abc".utf8) + [0])
        for count in 0..<whole.count { #expect(DirectoryEvents.read(whole[..<count]).isEmpty) }
        #expect(DirectoryEvents.read(self.event(1, 8, [], length: 255)[...]).isEmpty)
        #expect(DirectoryEvents.read(Array(repeating: 0xFF, count: 64)[...]).isEmpty)
    }
}
