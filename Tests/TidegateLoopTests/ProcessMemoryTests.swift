internal import Foundation
internal import Testing

@testable internal import TidegateLoop

@Suite("Memory that only starting needed")
struct ProcessMemoryTests {
    @Test("Only parts that are whole in a file, and cannot be written, are given back")
    func parts() {
        let text = """
            55d0c0000000-55d0c2000000 r-xp 00000000 fe:00 131                  /usr/bin/a program
            Size:              32768 kB
            Anonymous:             0 kB
            VmFlags: rd ex mr mw me
            55d0c2000000-55d0c2100000 r--p 02000000 fe:00 131 /usr/bin/a program
            Anonymous:          1024 kB
            55d0c2100000-55d0c2200000 rw-p 02100000 fe:00 131 /usr/bin/a program
            Anonymous:             0 kB
            7f0000000000-7f0000021000 rw-p 00000000 00:00 0
            Anonymous:            12 kB
            7f1000000000-7f1000021000 r--p 00000000 fe:00 77 /usr/lib/liba.so
            7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]
            Anonymous:             0 kB
            """
        let parts = MemoryMapping.mappings(of: text)
        #expect(parts.count == 6)
        #expect(parts.map(\.isUnmodifiedFile) == [true, false, false, false, false, false])
        #expect(parts.first?.addresses == 0x55d0_c000_0000..<0x55d0_c200_0000)
        #expect(parts.first?.name == "/usr/bin/a program")
    }

    @Test("Unused pages of a library leave memory, and come back when they are read")
    func releases() throws {
        let size = 64 * 4096
        let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 4096 &* 7 &+ $0) }
        let path = NSTemporaryDirectory() + "libtidegate-\(UUID().uuidString).so"
        #expect(FileManager.default.createFile(atPath: path, contents: Data(content)))
        defer { unlink(path) }
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        let start = try #require(mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0))
        try #require(start != MAP_FAILED)
        defer { munmap(start, size) }
        let pages = UnsafeRawBufferPointer(start: start, count: size)
        #expect(pages.elementsEqual(content))
        #expect(try Self.resident(at: start) == size / 1024)
        ProcessMemory.releaseStartupPages()
        #expect(try Self.resident(at: start) == 0)
        #expect(pages.elementsEqual(content))
    }

    // The file has no size, and grows while it is read: until read(2) returns nothing.
    private static func smaps() -> [UInt8] {
        let descriptor = open("/proc/self/smaps", O_RDONLY)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return bytes
    }

    /// How many KiB of the mapping that starts there are in memory (proc_pid_smaps(5)).
    private static func resident(at start: UnsafeMutableRawPointer) throws -> Int {
        let address = String(UInt(bitPattern: start), radix: 16)
        let lines = String(decoding: Self.smaps(), as: UTF8.self).split(separator: "\n")
        let mapping = try #require(lines.firstIndex { $0.hasPrefix("\(address)-") })
        let line = try #require(lines[mapping...].first { $0.hasPrefix("Rss:") })
        return try #require(Int(line.filter(\.isNumber)))
    }
}
