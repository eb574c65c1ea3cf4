internal import Glibc

/// The memory of this process.
package enum ProcessMemory {
    /// Releases what only starting needed: pages of the program and its libraries that are not used any more.
    ///
    /// A page that is needed after all comes back from its file (MADV_DONTNEED, madvise(2)).
    package static func releaseStartupPages() {
        guard let text = self.map() else { return }
        let program = self.program()
        // Only what stays mapped while the process lives: another thread may unmap any other file meanwhile, and its
        // addresses may be the heap's by the time of the call.
        for mapping in MemoryMapping.mappings(of: text)
        where mapping.isUnmodifiedFile && (mapping.isLibrary || program.map { mapping.name == $0 } ?? false) {
            let start = UnsafeMutableRawPointer(bitPattern: mapping.addresses.lowerBound)
            // The kernel refuses locked pages, and they stay.
            _ = madvise(start, mapping.addresses.count, MADV_DONTNEED)
        }
    }

    /// The path of the running program.
    private static func program() -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
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

/// A part of a process's memory, as /proc/PID/smaps shows it (proc_pid_smaps(5)).
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
    /// Not if a debugger or the dynamic linker has written into it.
    var isUnmodifiedFile: Bool { self.permissions.hasPrefix("r-") && self.name.hasPrefix("/") && self.anonymous == 0 }

    /// Whether it is of a shared library: `libc.so.6`.
    var isLibrary: Bool { self.name.split(separator: "/").last?.split(separator: ".").contains("so") == true }

    static func mappings(of text: String) -> [MemoryMapping] {
        var mappings: [MemoryMapping] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            if let mapping = MemoryMapping(fields) {
                mappings.append(mapping)
            } else if fields.count > 1, fields[0] == "Anonymous:", !mappings.isEmpty {
                mappings[mappings.count - 1].anonymous = Int(fields[1])
            }
        }
        return mappings
    }

    // A line of five or six fields, of which the first is a range: START-END PERMISSIONS OFFSET DEVICE INODE NAME.
    private init?(_ fields: [Substring]) {
        guard fields.count >= 5 else { return nil }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        self.addresses = ends[0]..<ends[1]
        self.permissions = fields[1]
        self.name = fields.count > 5 ? fields[5].drop { $0 == " " } : ""
    }
}
