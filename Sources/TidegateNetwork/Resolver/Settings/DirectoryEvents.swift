/// Decodes the events of inotify(7).
struct DirectoryEvents {
    /// An event about a directory or an entry in it.
    struct Event: Hashable {
        let watch: Int32
        let mask: UInt32
        /// The entry; empty if the event is about the directory itself.
        let name: String
    }

    // watch, mask, cookie, length of the name.
    private static let headerSize = 16

    /// The complete events in `bytes`; never reads beyond them, whatever they contain.
    static func read(_ bytes: ArraySlice<UInt8>) -> [Event] {
        var events: [Event] = []
        var rest = bytes
        while rest.count >= self.headerSize {
            let length = Int(self.word(rest, 12))
            guard rest.count - self.headerSize >= length else { break }
            let name = rest.dropFirst(self.headerSize).prefix(length).prefix { $0 != 0 }
            events.append(
                Event(
                    watch: Int32(bitPattern: self.word(rest, 0)), mask: self.word(rest, 4),
                    name: String(decoding: name, as: UTF8.self)))
            rest = rest.dropFirst(self.headerSize + length)
        }
        return events
    }

    // In the machine's byte order.
    private static func word(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }
}
