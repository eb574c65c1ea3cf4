/// What inotify(7) has to tell, read off its bytes.
struct DirectoryEvents {
    /// Something about a directory or an entry in it.
    struct Event: Hashable {
        let watch: Int32
        let mask: UInt32
        /// The entry; empty where it is about the directory itself.
        let name: String
    }

    // watch, mask, cookie, length of the name.
    private static let headerSize = 16

    /// The whole events in `bytes`; whatever the bytes are, nothing beyond them is read.
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

    // In this machine's order.
    private static func word(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        let start = bytes.startIndex + offset
        #if _endian(little)
            return bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        #else
            return bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        #endif
    }
}
