import CSnappy
import Testing
import TidegateMetrics
import TidegateCore
import TidegateTestKit

@testable import TidegateStore

/// The encoded message, decoded by a decoder that shares nothing with the encoder.
@Suite struct WriteRequestTests {
    private let time = WallTime(microseconds: 1_790_000_000_123_999)

    private func series(_ samples: [MetricSample]) throws -> [ReceivedSeries] {
        try ReceivedSeries.all(in: WriteRequest(samples: samples, time: self.time).encoded)
    }

    @Test("A series has its name among its sorted labels, its value, and the moment in milliseconds")
    func one() throws {
        let labels: [MetricSample.Label] = [.init("zone", "a\"b\n\\"), .init("Alpha", "Ä"), .init("le", "+Inf")]
        let all = try self.series([MetricSample(name: "up", labels: labels, value: 0.1 + 0.2)])
        let series = try #require(all.first)
        #expect(all.count == 1)
        #expect(series.labels.map(\.name) == ["Alpha", "__name__", "le", "zone"])
        #expect(series.labels.map(\.value) == ["Ä", "up", "+Inf", "a\"b\n\\"])
        #expect(series.value == 0.1 + 0.2)
        #expect(series.milliseconds == 1_790_000_000_123)
    }

    @Test(
        "Values keep every bit",
        arguments: [0, -0.0, 1e308, Double.leastNonzeroMagnitude, .infinity, -.infinity, .nan, WriteRequest.stale])
    func bits(_ value: Double) throws {
        let all = try self.series([MetricSample(name: "x", labels: [], value: value)])
        #expect(all.map(\.value.bitPattern) == [value.bitPattern])
    }

    @Test("A label with an empty value is not sent: for a receiver it is missing")
    func emptyLabel() throws {
        let all = try self.series([MetricSample(name: "x", labels: [.init("a", "")], value: 1)])
        #expect(all.map { $0.labels.map(\.name) } == [["__name__"]])
    }

    @Test("Snappy restores what it compressed: nothing, a byte, repetition and noise")
    func snappy() throws {
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<70_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        for bytes in [[], [7], Array(repeating: 3, count: 200_000), noise] {
            let block = try #require(Snappy.compress(bytes))
            #expect(uncompressed(block) == bytes)
        }
        #expect(try #require(Snappy.compress(Array(repeating: 3, count: 200_000))).count < 20_000)
    }
}

/// One series as a receiver decodes it.
struct ReceivedSeries: Sendable, Hashable {
    struct Label: Sendable, Hashable {
        let name: String
        let value: String
    }

    let labels: [Label]
    let value: Double
    let milliseconds: Int64

    /// `name{label="value",…}` with the labels in order, as a key.
    var key: String {
        let name = self.labels.first { $0.name == "__name__" }?.value ?? ""
        let others = self.labels.filter { $0.name != "__name__" }.map { "\($0.name)=\"\($0.value)\"" }
        return others.isEmpty ? name : "\(name){\(others.joined(separator: ","))}"
    }

    /// The series of an encoded message; each must have one sample.
    static func all(in message: [UInt8]) throws -> [ReceivedSeries] {
        try ProtobufMessage(message).messages(1).map { series in
            let labels = series.messages(1).map { Label(name: $0.strings(1)[0], value: $0.strings(2)[0]) }
            let samples = series.messages(2)
            try #require(samples.count == 1)
            return ReceivedSeries(
                labels: labels, value: samples[0].doubles(1)[0],
                milliseconds: Int64(bitPattern: samples[0].numbers(2)[0]))
        }
    }

    /// The series of a request's body.
    static func all(inBody body: [UInt8]) throws -> [ReceivedSeries] {
        try self.all(in: try #require(uncompressed(body)))
    }
}

/// The contents of a Snappy block; nil if it is not a block.
private func uncompressed(_ block: [UInt8]) -> [UInt8]? {
    let input = block.map { CChar(bitPattern: $0) }
    var count = 0
    guard snappy_uncompressed_length(input, input.count, &count) == SNAPPY_OK else { return nil }
    var output = [CChar](repeating: 0, count: max(1, count))
    guard snappy_uncompress(input, input.count, &output, &count) == SNAPPY_OK else { return nil }
    return output.prefix(count).map { UInt8(bitPattern: $0) }
}
