import Foundation
import Testing
import TidegateTestKit

@testable import TidegateMetrics

/// Native buckets are Prometheus's own: eight to a power of two, upper bounds included.
@Suite struct NativeHistogramTests {
    private let layout = HistogramLayout(bounds: Buckets.requests)

    @Test("An observation's cell is the one that both its buckets contain")
    func cells() {
        var value = 1e-7
        while value < 1e7 {
            let cell = self.layout.cell(of: value)
            #expect(value <= self.layout.ends[cell])
            if cell > 0 { #expect(value > self.layout.ends[cell - 1]) }
            value *= 1.003
        }
        for bound in Buckets.requests {
            let cell = self.layout.cell(of: bound)
            #expect(self.layout.ends[cell] == bound)
            #expect(self.layout.bounds[Int(self.layout.classic[cell])] == bound)
            #expect(self.layout.classic[self.layout.cell(of: bound.nextUp)] == self.layout.classic[cell] + 1)
        }
    }

    @Test("Keys are those of schema 3: the smallest k with value <= 2^(k/8)")
    func keys() {
        var value = 0.0001
        while value < 1000 {
            let cell = self.layout.cell(of: value)
            let key = self.layout.key(of: Int(self.layout.native[cell]))
            #expect(pow(2, Double(key) / 8) >= value * (1 - 1e-12))
            #expect(pow(2, Double(key - 1) / 8) <= value * (1 + 1e-12))
            value *= 1.01
        }
        // A power of two ends its bucket.
        #expect(self.layout.key(of: Int(self.layout.native[self.layout.cell(of: 1)])) == 0)
        #expect(self.layout.key(of: Int(self.layout.native[self.layout.cell(of: 1.0.nextUp)])) == 1)
    }

    @Test("What is too small is zero, and what is too large stays in the last bucket")
    func ends() {
        for value in [-1, 0, self.layout.zeroThreshold, .leastNonzeroMagnitude] {
            #expect(self.layout.native[self.layout.cell(of: value)] == 0)
        }
        for value in [1e9, .infinity, .greatestFiniteMagnitude] {
            #expect(self.layout.cell(of: value) == self.layout.ends.count - 1)
        }
    }

    @Test("Every histogram of the catalogue has room for its cells, and its bounds lie in the native buckets")
    func catalogue() {
        for definition in Fixture().recorder.definitions where !definition.bounds.isEmpty {
            #expect(definition.layout.ends.count <= HistogramLayout.capacity)
            #expect(definition.layout.zeroThreshold < definition.bounds[0], "\(definition.name)")
            #expect(zip(definition.layout.ends, definition.layout.ends.dropFirst()).allSatisfy { $0 < $1 })
        }
        #expect(HistogramLayout.capacity == 272)
    }

    private func reading(_ values: [Double]) throws -> ProtobufMessage {
        let histogram = Histogram(Catalogue.taskRetryBackoff, values: [])
        for value in values { histogram.observe(value) }
        var output = ExpositionWriter(reusing: [], format: .protobuf)
        output.open(FamilyHeader(Catalogue.taskRetryBackoff))
        histogram.write(to: &output)
        output.close()
        let family = try #require(try ProtobufMessage.stream(output.finish()).first)
        return try #require(family.messages(4).first?.messages(7).first)
    }

    /// The native buckets of a histogram message: schema, zero count, and counts by key.
    private func native(_ message: ProtobufMessage) throws -> (schema: Int64, zero: UInt64, counts: [Int64: Int64]) {
        var (key, counts, deltas): (Int64, [Int64: Int64], ArraySlice<Int64>) = (0, [:], [])
        if let packed = message.bytes(13).first { deltas = try ProtobufMessage.packed(packed)[...] }
        var count: Int64 = 0
        for span in message.messages(12) {
            key += ProtobufMessage.signed(span.numbers(1)[0])
            for _ in 0..<span.numbers(2)[0] {
                count += deltas.popFirst() ?? 0
                counts[key] = count
                key += 1
            }
        }
        #expect(deltas.isEmpty)
        return (ProtobufMessage.signed(message.numbers(5)[0]), message.numbers(7)[0], counts)
    }

    @Test("Spans and deltas encode every count")
    func spans() throws {
        let native = try self.native(self.reading([0, 1, 1, 1, 1.05, 2, 100]))
        #expect(native.schema == 3)
        #expect(native.zero == 1)
        #expect(native.counts == [0: 3, 1: 1, 8: 1, 54: 1])
    }

    @Test("More than 160 buckets are merged until they fit, and no observation is lost")
    func merged() throws {
        let values = (0..<240).map { pow(2, (Double($0) - 100) / 8) * 1.0001 }
        let native = try self.native(self.reading(values))
        #expect(native.schema == 2)
        #expect(native.counts.count <= HistogramReading.maxNativeBuckets)
        #expect(native.counts.values.reduce(0, +) + Int64(native.zero) == 240)
    }

    @Test("An empty histogram is a native one still")
    func empty() throws {
        let message = try self.reading([])
        #expect(message.messages(12).count == 1)
        #expect(message.numbers(1) == [0])
        #expect(try self.native(message).counts.isEmpty)
    }
}
