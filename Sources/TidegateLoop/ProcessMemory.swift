internal import Glibc

/// The memory of this process.
package enum ProcessMemory {
    /// Gives back what only starting needed: pages of the program and its libraries that are not used any more.
    ///
    /// A page that is needed after all comes back from its file (MADV_DONTNEED, madvise(2)).
    package static func giveBack() {
        guard let text = self.map() else { return }
        for part in MemoryMapping.parts(of: text) where part.isAsInFile {
            let start = UnsafeMutableRawPointer(bitPattern: part.addresses.lowerBound)
            // The kernel refuses locked pages, and they stay.
            _ = madvise(start, part.addresses.count, MADV_DONTNEED)
        }
    }

    private static func map() -> String? {
        let descriptor = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
            bytes += buffer[..<count]
        }
    }
}

/// A part of a process's memory, as /proc/PID/smaps tells of it (proc_pid_smaps(5)).
struct MemoryMapping: Equatable {
    let addresses: Range<UInt>
    /// As in `r-xp`.
    let permissions: Substring
    /// The file behind it, or what the kernel calls it; empty for neither.
    let name: Substring
    /// How much of it is no file's, in KiB; nil while the line for it has not come.
    var anonymous: Int?

    /// Whether every byte of it can be had again from a file.
    ///
    /// Not where a debugger or the dynamic linker has written into it.
    var isAsInFile: Bool { self.permissions.hasPrefix("r-") && self.name.hasPrefix("/") && self.anonymous == 0 }

    static func parts(of text: String) -> [MemoryMapping] {
        var parts: [MemoryMapping] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            if let part = MemoryMapping(words) {
                parts.append(part)
            } else if words.count > 1, words[0] == "Anonymous:", !parts.isEmpty {
                parts[parts.count - 1].anonymous = Int(words[1])
            }
        }
        return parts
    }

    // A line of five or six words, of which the first is a range: START-END PERMISSIONS OFFSET DEVICE INODE NAME.
    private init?(_ words: [Substring]) {
        guard words.count >= 5 else { return nil }
        let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        self.addresses = ends[0]..<ends[1]
        self.permissions = words[1]
        self.name = words.count > 5 ? words[5].drop { $0 == " " } : ""
    }
}
