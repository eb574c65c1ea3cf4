import Foundation
import Testing

@testable import TidegateStore

/// The buffer's files.
@Suite struct SegmentFolderTests {
    private let place = try? Place()

    private func folder() throws -> (SegmentFolder, String) {
        let path = try #require(self.place).path + "/a/b"
        return (SegmentFolder(path), path)
    }

    private static func segment(_ sequence: UInt64, _ body: [UInt8]) -> Segment {
        Segment(sequence: sequence, samples: 5, length: Segment.content(of: body).count)
    }

    @Test("What was written is found by the next process, oldest first, and read back")
    func comesBack() throws {
        let (folder, path) = try self.folder()
        #expect(try folder.open().isEmpty)
        for sequence: UInt64 in [10, 9, 100] {
            let body = Array(repeating: UInt8(sequence), count: 5000)
            try folder.write(body, of: Self.segment(sequence, body))
        }
        let next = SegmentFolder(path)
        let found = try next.open()
        #expect(found.map(\.sequence) == [9, 10, 100])
        #expect(found.map(\.samples) == [5, 5, 5])
        #expect(found.map(\.bytes) == [8192, 8192, 8192])
        for segment in found { #expect(next.read(segment) == Array(repeating: UInt8(segment.sequence), count: 5000)) }
        next.remove(found[1])
        #expect(try next.open().map(\.sequence) == [9, 100])
        #expect(next.read(found[1]) == nil)
    }

    @Test("Every cut and every turned bit is noticed")
    func damage() throws {
        let body = (0..<200).map { UInt8($0) }
        let content = Segment.content(of: body)
        #expect(Segment.body(in: content) == body)
        for count in 0..<content.count { #expect(Segment.body(in: Array(content[..<count])) == nil) }
        for bit in 0..<content.count * 8 {
            var damaged = content
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(Segment.body(in: damaged) == nil)
        }
        #expect(Segment.body(in: content + [0]) == nil)
    }

    @Test("A file cut short on the disk is not sent")
    func truncated() throws {
        let (folder, path) = try self.folder()
        _ = try folder.open()
        let segment = Self.segment(1, [1, 2, 3])
        try folder.write([1, 2, 3], of: segment)
        #expect(truncate("\(path)/\(segment.fileName)", 10) == 0)
        #expect(try folder.open() == [segment])
        #expect(folder.read(segment) == nil)
    }

    @Test("What never was whole is removed, and what is not ours stays")
    func others() throws {
        let (folder, path) = try self.folder()
        _ = try folder.open()
        let names = [
            "00000000000000000007-5.segment.partial", "notes.txt", "7-5.segment", "00000000000000000007-x.segment",
            "18446744073709551615-5.segment", "-.segment", ".segment", "00000000000000000007--5.segment",
        ]
        for name in names { #expect(FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data([1]))) }
        try FileManager.default.createDirectory(
            atPath: "\(path)/00000000000000000008-5.segment", withIntermediateDirectories: false)
        #expect(try folder.open() == [])
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: path)).subtracting(names).count == 1)
        #expect(!FileManager.default.fileExists(atPath: "\(path)/\(names[0])"))
    }

    @Test("A directory that cannot be had is an error that names the call")
    func noDirectory() throws {
        let path = try #require(self.place).path
        #expect(FileManager.default.createFile(atPath: "\(path)/file", contents: nil))
        let folder = SegmentFolder("\(path)/file/below")
        #expect(throws: SegmentFolder.Problem.self) { try folder.open() }
        #expect(throws: SegmentFolder.Problem.self) { try folder.write([1], of: Self.segment(1, [1])) }
    }

    @Test("The check is the one that everybody else computes")
    func check() {
        #expect(CyclicRedundancyCheck.sum(of: Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(CyclicRedundancyCheck.sum(of: []) == 0)
    }
}

/// A directory of a test's own, removed with it.
final class Place: Sendable {
    let path: String

    init() throws {
        self.path = NSTemporaryDirectory() + "tidegate-remote-write-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }
}
