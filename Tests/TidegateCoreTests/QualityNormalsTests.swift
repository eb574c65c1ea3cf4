import Testing

@testable import TidegateCore

/// What is usual on a network, and its stored form.
@Suite struct QualityNormalsTests {
    private static let path = NetworkPath(interface: "lan", index: 2, gateway: IPAddress(ipv4: 0x0A00_0001))
    private static let host = QualityNormals.Key(IPAddress(ipv4: 0x0A00_0001), on: path.description)
    private static let start = WallTime(microseconds: 1_790_000_000_000_000)

    private func learned(_ milliseconds: [Int64], of key: QualityNormals.Key = host) -> QualityNormals {
        var normals = QualityNormals()
        for each in milliseconds { normals.learn(.milliseconds(each), of: key, at: Self.start) }
        return normals
    }

    @Test("The median of twelve samples is usual, and fewer say nothing")
    func samples() {
        #expect(self.learned(Array(repeating: 5, count: 11))[Self.host] == nil)
        #expect(self.learned([1, 90, 2, 80, 3, 70, 4, 60, 5, 50, 6, 40])[Self.host] == .milliseconds(6))
    }

    @Test("A day of medians outweighs an hour, and a measurement replaces it")
    func day() {
        var normals = self.learned(Array(repeating: 10, count: 30 * 20) + Array(repeating: 90, count: 30 * 12))
        #expect(normals[Self.host] == .milliseconds(10))
        normals.replace(Self.host, by: .milliseconds(90), at: Self.start)
        #expect(normals[Self.host] == .milliseconds(90))
    }

    @Test("What was stored is read again with the weight that it had, on the same network after its link is new")
    func stored() throws {
        let normals = self.learned(Array(repeating: 10, count: 30 * 20))
        var read = try #require(QualityNormals(try JSONValue(parsing: "\(normals.json)".utf8), at: Self.start))
        #expect(read == normals)
        for _ in 0..<30 * 12 { read.learn(.milliseconds(90), of: Self.host, at: Self.start) }
        #expect(read[Self.host] == .milliseconds(10))
        let again = NetworkPath(interface: "lan", index: 7, gateway: IPAddress(ipv4: 0x0A00_0001))
        #expect(read[.init(IPAddress(ipv4: 0x0A00_0001), on: again.description)] == .milliseconds(10))
        let other = NetworkPath(interface: "lan", index: 2, gateway: IPAddress(ipv4: 0x0A00_0002))
        #expect(read[.init(IPAddress(ipv4: 0x0A00_0001), on: other.description)] == nil)
    }

    @Test("A host and a target with the same address are two things")
    func kinds() throws {
        let target = QualityNormals.Key(try Target("10.0.0.1"), on: Self.path.description)
        #expect(self.learned(Array(repeating: 10, count: 30))[target] == nil)
    }

    @Test("What was learned more than 30 days ago is dropped")
    func age() throws {
        let json = self.learned(Array(repeating: 10, count: 30)).json
        let days = Duration.seconds(30 * 86_400)
        #expect(QualityNormals(json, at: Self.start + days)?[Self.host] == .milliseconds(10))
        #expect(QualityNormals(json, at: Self.start + days + .microseconds(1)) == QualityNormals())
    }

    @Test("Of more than three hundred hosts the oldest are dropped")
    func bound() {
        var normals = QualityNormals()
        let keys = (0..<302).map { QualityNormals.Key(IPAddress(ipv4: 0x0A00_0000 + UInt32($0)), on: "lan") }
        for (second, key) in keys.enumerated() {
            normals.replace(key, by: .milliseconds(1), at: Self.start + .seconds(second))
        }
        #expect(keys.filter { normals[$0] == nil } == Array(keys.prefix(2)))
    }

    @Test(
        "A damaged form is refused as a whole",
        arguments: [
            "{}", "[1]", #"[{"network": "lan", "place": "10.0.0.1", "learned": 1, "microseconds": []}]"#,
            #"[{"network": "lan", "place": "10.0.0.1", "learned": 1, "microseconds": [1, -2]}]"#,
            #"[{"network": "lan", "place": "10.0.0.1", "learned": 1, "microseconds": [1, "2"]}]"#,
            #"[{"network": "lan", "place": "10.0.0.1", "learned": "1", "microseconds": [1]}]"#,
            #"[{"place": "10.0.0.1", "learned": 1, "microseconds": [1]}]"#,
        ])
    func damage(text: String) throws {
        #expect(QualityNormals(try JSONValue(parsing: text.utf8), at: Self.start) == nil)
    }
}
