internal import Testing
internal import TidegateCore
internal import TidegateNetwork

@testable internal import TidegateReachability

/// Who watches what, by the thousand.
struct TargetTableTests {
    @Test("Ten thousand watches leave nothing behind, in whatever order they end")
    func thousands() throws {
        var book = TargetTable(configured: [try Target("stays.test")])
        for number in 0..<10_000 {
            let target = try Target("h\(number % 5000).test:\(number < 5000 ? 80 : 443)")
            _ = book.watch(target, id: UInt64(number), known: nil) { _ in }
        }
        #expect(book.entries.count == 10_001)
        #expect(book.takeNames(.new).count == 5001)
        for number in stride(from: 0, to: 10_000, by: 2) { #expect(book.unwatch(UInt64(number)) != nil) }
        for number in stride(from: 9_999, to: 0, by: -2) { #expect(book.unwatch(UInt64(number)) != nil) }
        #expect(book.unwatch(0) == nil)
        #expect(book.entries.map(\.target.host) == ["stays.test"])
        #expect(book.names["h1.test"] == nil && book.names["stays.test"] != nil)
    }

    @Test("Targets with the same name find each other after others have gone")
    func sameName() throws {
        var book = TargetTable(configured: [])
        for (id, text) in ["x.test", "a.test:80", "y.test", "a.test:443"].enumerated() {
            _ = book.watch(try Target(text), id: UInt64(id), known: nil) { _ in }
        }
        _ = book.unwatch(0)
        #expect(
            book.positions(of: "a.test").map { book.entries[$0].target.port }.sorted { $0 ?? 0 < $1 ?? 0 } == [80, 443])
        _ = book.takeNames(.new)
        let now = MonotonicTime(nanoseconds: 1)
        #expect(book.answered("a.test", .success([IPAddress(ipv4: 7), IPAddress(ipv4: 8)]), at: now) == true)
        #expect(book.questions().map(\.port).filter { $0 != nil }.count == 4)
        let parts = book.entries.map(\.questions)
        #expect(parts.map(\.count).sorted() == [0, 2, 2])
        #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    }

    @Test("Two watches on one target end one by one")
    func shared() throws {
        var book = TargetTable(configured: [])
        let target = try Target("10.0.0.7")
        let positions = [1, 2].map { book.watch(target, id: $0, known: nil) { _ in } }
        #expect(positions == [0, 0])
        #expect(book.unwatch(1) == nil)
        #expect(book.unwatch(2) == target)
        #expect(book.entries.isEmpty)
    }
}
