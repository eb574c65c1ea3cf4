import Foundation
import Testing
import TidegateCore
import TidegateMetrics
import TidegateTestKit

@testable import TidegateServer

/// A real Prometheus scrapes each format, and every sample of it is compared with what the registry itself has.
///
/// The start times of counters and histograms are in protobuf only, and Debian's Prometheus does not take them up: our
/// own tests of that format look at them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FormatTests {
    private static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/prometheus")

    @Test(
        "OpenMetrics: every sample, unit, help and exemplar arrives",
        .enabled(if: FormatTests.isInstalled, "prometheus (Debian package prometheus) is not installed"))
    func openMetrics() async throws {
        try await self.scrape(features: ["exemplar-storage"]) { fixture, prometheus in
            let stored = try await self.compareNumbers(fixture, prometheus)
            #expect(stored.allSatisfy { $0.native == nil })
            try await self.compareMetadata(fixture, prometheus, hasUnits: true)
            let own = try await RegistrySnapshot.exemplars(fixture)
            let kept = try await prometheus.exemplars()
            #expect(!own.isEmpty)
            #expect(Set(kept.map(\.series)) == Set(own.keys))
            for entry in kept {
                let newest = try #require(entry.exemplars.last)
                let shown = RegistrySnapshot.Shown(
                    labels: newest.labels, value: Double(newest.value) ?? .nan, timestamp: newest.timestamp)
                #expect(shown == own[entry.series], "\(entry.series)")
            }
        }
    }

    @Test(
        "Text 0.0.4: every sample and help arrives, for a scraper that accepts nothing else",
        .enabled(
            if: FormatTests.isInstalled && AcceptProxy.isInstalled,
            "prometheus or nginx (Debian packages prometheus, nginx-light) is not installed"))
    func text() async throws {
        try await self.scrape(asking: "text/plain;version=0.0.4", features: ["exemplar-storage"]) {
            fixture, prometheus in
            let stored = try await self.compareNumbers(fixture, prometheus)
            #expect(stored.allSatisfy { $0.native == nil })
            try await self.compareMetadata(fixture, prometheus, hasUnits: false)
            #expect(try await prometheus.exemplars().isEmpty)
        }
    }

    @Test(
        "Protobuf: every sample and exemplar arrives, and every bucket of every native histogram",
        .enabled(if: FormatTests.isInstalled, "prometheus (Debian package prometheus) is not installed"))
    func protobuf() async throws {
        try await self.scrape(features: ["native-histograms", "exemplar-storage"]) { fixture, prometheus in
            let stored = try await self.compareNumbers(fixture, prometheus)
            let natives = try await RegistrySnapshot.natives(fixture)
            #expect(Set(stored.filter { $0.native != nil }.map(\.series)) == Set(natives.keys) && !natives.isEmpty)
            for entry in stored {
                guard let native = entry.native else { continue }
                let (kept, own) = (native.native, natives[entry.series] ?? [])
                #expect(kept.count == own.count, "\(entry.series)")
                for (one, two) in zip(kept, own) { #expect(one.isSame(as: two), "\(entry.series): \(one), \(two)") }
            }
            try await self.compareMetadata(fixture, prometheus, hasUnits: false)
            try await self.compareProtobufExemplars(fixture, prometheus)
        }
    }

    // MARK: Both sides

    /// Everything has happened; then Prometheus scrapes a few times while nothing but its scrapes happens.
    private func scrape(
        asking type: String? = nil, features: [String],
        _ compare: (Fixture, Prometheus) async throws -> Void
    ) async throws {
        let fixture = Fixture()
        // This subscriber never reads, so that there is a queue to check.
        let listener = fixture.bus.subscribe(.log, bufferingNewest: 16)
        defer { listener.cancel() }
        for _ in 0..<3 {
            for payload in EveryEvent.payloads {
                fixture.time.advance(by: .milliseconds(10))
                fixture.bus.publish(payload)
            }
        }
        try await fixture.serving { (port: Int) in
            var proxy: AcceptProxy?
            if let type { proxy = try await AcceptProxy(to: port, accepting: type) }
            defer { proxy?.stop() }
            let prometheus = try await Prometheus(scraping: proxy?.port ?? port, features: features)
            defer { prometheus.stop() }
            try await prometheus.scraped(2)
            try await compare(fixture, prometheus)
        }
    }

    // A scrape that lies between two readings of ours has what both have, or something in between.
    private func compareNumbers(
        _ fixture: Fixture, _ prometheus: Prometheus
    ) async throws -> [PrometheusParse.Entry] {
        let before = RegistrySnapshot(fixture).numbers
        try await prometheus.scraped(2)
        let stored = try await prometheus.everything()
        let after = RegistrySnapshot(fixture).numbers
        #expect(Set(before.keys) == Set(after.keys))
        var numbers: [SeriesKey: Double] = [:]
        for entry in stored {
            if let number = entry.number { numbers[entry.series] = number }
            guard let native = entry.native else { continue }
            // A native histogram is one series, and its count and sum are no series of their own.
            for (ending, text) in [("_count", native.count), ("_sum", native.sum)] {
                numbers[SeriesKey(name: entry.series.name + ending, labels: entry.series.labels)] = Double(text)
            }
        }
        let isNative = stored.contains { $0.native != nil }
        let expected = before.keys.filter { !isNative || !$0.name.hasSuffix("_bucket") }
        #expect(expected.count > 300)
        #expect(Set(numbers.keys).subtracting(expected) == [], "Prometheus has series that are not ours")
        for key in expected {
            let (low, high) = (before[key] ?? .nan, after[key] ?? .nan)
            let number = try #require(numbers[key], "\(key) did not arrive")
            if Self.swings.contains(key.name) {
                #expect(number > 0 && number >= min(low, high) / 4 && number <= max(low, high) * 4, "\(key): \(number)")
            } else {
                #expect(number >= low && number <= high, "\(key): \(number), not \(low) to \(high)")
                #expect(low == high || Self.grows.contains(key.name), "\(key) moved by itself")
            }
        }
        return stored
    }

    // A scrape is itself counted.
    private static let grows: Set<String> = [
        "process_cpu_seconds_total", "tidegate_http_requests_total", "tidegate_bus_events_published_total",
        "tidegate_bus_events_dropped_total",
    ]

    // What else the process does shows in these: other tests run in it.
    private static let swings: Set<String> = [
        "process_open_fds", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_threads",
        "tidegate_http_requests_in_flight",
    ]

    private func compareMetadata(
        _ fixture: Fixture, _ prometheus: Prometheus, hasUnits: Bool
    ) async throws {
        let stored = try await prometheus.metadata()
        for definition in fixture.recorder.definitions {
            // OpenMetrics' family is a counter's name without its ending.
            let names = [definition.name, definition.family]
            let known = stored.first { names.contains($0.metric) }
            // A family without a sample has none in protobuf.
            guard let known else {
                let own = RegistrySnapshot(fixture).numbers.keys
                #expect(!own.contains { $0.name.hasPrefix(definition.name) }, "\(definition.name)")
                continue
            }
            #expect(known.help == definition.help, "\(definition.name)")
            #expect(known.type == "\(definition.kind)".prefix { $0.isLetter }, "\(definition.name)")
            #expect(known.unit == (hasUnits ? definition.unit.rawValue : ""), "\(definition.name)")
        }
    }

    // A native histogram has one series for the exemplars of all its buckets, and those out of their order in time do
    // not last.
    private func compareProtobufExemplars(_ fixture: Fixture, _ prometheus: Prometheus) async throws {
        let own = try await RegistrySnapshot.exemplars(fixture)
        let kept = try await prometheus.exemplars()
        var known: [SeriesKey: Set<RegistrySnapshot.Shown>] = [:]
        for (series, shown) in own {
            var series = series
            if series.name.hasSuffix("_bucket") { series.name.removeLast("_bucket".count) }
            series.labels["le"] = nil
            known[series, default: []].insert(shown)
        }
        #expect(Set(kept.map(\.series)) == Set(known.keys))
        for entry in kept {
            for exemplar in entry.exemplars {
                let shown = RegistrySnapshot.Shown(
                    labels: exemplar.labels, value: Double(exemplar.value) ?? .nan, timestamp: exemplar.timestamp)
                #expect(known[entry.series]?.contains(shown) == true, "\(entry.series)")
            }
        }
    }
}
