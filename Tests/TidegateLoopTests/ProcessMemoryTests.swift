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

    @Test("A process goes on after it")
    func goesOn() {
        let before = (0..<1000).map { "number \($0)" }
        ProcessMemory.releaseStartupPages()
        #expect(before == (0..<1000).map { "number \($0)" })
    }
}
