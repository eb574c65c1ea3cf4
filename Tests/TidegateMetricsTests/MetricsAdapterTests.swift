import CoreMetrics
import Synchronization
import Testing

@testable import TidegateMetrics

@Suite struct MetricsAdapterTests {
    private let fixture = Fixture()
    private let conflicts = ConflictRecorder()

    /// The conflicts that the adapter has reported.
    private final class ConflictRecorder: Sendable {
        private let messages = Mutex<[String]>([])
        var all: [String] { self.messages.withLock { $0 } }
        func add(_ message: String) { self.messages.withLock { $0.append(message) } }
    }

    private var adapter: MetricsAdapter { self.fixture.recorder.adapter { [conflicts] in conflicts.add($0) } }

    @Test("Every kind of metric appears in the exposition under a valid name")
    func kinds() {
        let adapter = self.adapter
        adapter.makeCounter(label: "http.requests", dimensions: [("path", "/a\"b"), ("le", "x")]).increment(by: 3)
        adapter.makeFloatingPointCounter(label: "work_total", dimensions: []).increment(by: 0.5)
        adapter.makeMeter(label: "queue length", dimensions: []).set(7.0)
        adapter.makeRecorder(label: "2sizes", dimensions: [], aggregate: true).record(12.0)
        adapter.makeRecorder(label: "last", dimensions: [], aggregate: false).record(Int64(4))
        adapter.makeTimer(label: "query", dimensions: []).recordNanoseconds(20_000_000)
        let series = self.fixture.series()
        #expect(series["http_requests_total{exported_le=\"x\",path=\"/a\\\"b\"}"] == 3)
        #expect(series["work_total"] == 0.5)
        #expect(series["queue_length"] == 7)
        #expect(series["_2sizes_bucket{le=\"25.0\"}"] == 1)
        #expect(series["last"] == 4)
        #expect(series["query_seconds_bucket{le=\"0.025\"}"] == 1)
        #expect(series["query_seconds_sum"] == 0.02)
        #expect(Shape.faults(in: self.fixture.text()) == [])
    }

    @Test("Two handlers of one name and labels move one series; the order of labels does not matter")
    func shared() {
        let adapter = self.adapter
        for dimensions in [[("a", "1"), ("b", "2")], [("b", "2"), ("a", "1")]] {
            adapter.makeCounter(label: "n", dimensions: dimensions).increment(by: Int64(1))
        }
        adapter.makeCounter(label: "n", dimensions: []).increment(by: Int64(5))
        #expect(self.fixture.series()["n_total{a=\"1\",b=\"2\"}"] == 2)
        #expect(self.fixture.series()["n_total"] == 5)
        #expect(Shape.faults(in: self.fixture.text()) == [])
    }

    @Test(
        "A clash is refused, counted, and reported once for each name",
        arguments: ["tidegate_tasks", "process_threads", "tidegate_metric_series", "mine", "mine_bucket", "mine.count"])
    func conflicts(_ label: String) {
        let adapter = self.adapter
        adapter.makeTimer(label: "mine", dimensions: []).recordNanoseconds(1)
        adapter.makeRecorder(label: "mine", dimensions: [], aggregate: true).record(1.0)
        let before = self.fixture.text(.text)
        for _ in 0..<3 { adapter.makeMeter(label: label, dimensions: []).set(1.0) }
        let isFree = label == "mine_bucket" || label == "mine.count"
        #expect(self.fixture.series()["tidegate_metric_conflicts_total"] == (isFree ? 0 : 3))
        #expect(self.conflicts.all.count == (isFree ? 0 : 1))
        // Endings that belong to histograms are changed before they can clash.
        #expect((self.fixture.series()["mine_value"] != nil) == isFree)
        #expect(Shape.faults(in: before) == [])
    }

    @Test("A metric of one kind is no metric of another")
    func kindClash() {
        let adapter = self.adapter
        adapter.makeCounter(label: "a", dimensions: []).increment(by: Int64(1))
        adapter.makeMeter(label: "a", dimensions: []).set(Int64(1))
        #expect(self.fixture.series()["tidegate_metric_conflicts_total"] == 1)
        #expect(self.fixture.series()["a"] == nil)
    }

    @Test("Label values of any length and kind are kept within bounds, and the exposition stays whole")
    func values() {
        let adapter = self.adapter
        let invalid = String(decoding: [0x61, 0xFF, 0x62], as: UTF8.self)
        for value in ["", "\"", "\\", "a\nb", invalid, String(repeating: "x", count: 10_000)] {
            adapter.makeCounter(label: "v", dimensions: [("value", value)]).increment(by: Int64(1))
        }
        let text = self.fixture.text()
        #expect(Shape.faults(in: text) == [])
        #expect(text.contains("v_total{value=\"a\u{FFFD}b\"} 1\n"))
        #expect(text.contains("{value=\"\(String(repeating: "x", count: 1024))\"} 1\n"))
    }

    @Test("A reset begins at 0, a negative step counts nothing, and a destroyed metric stays")
    func resets() {
        let adapter = self.adapter
        let counter = adapter.makeCounter(label: "c", dimensions: [])
        counter.increment(by: 5)
        counter.increment(by: -3)
        #expect(self.fixture.series()["c_total"] == 5)
        counter.reset()
        adapter.destroyCounter(counter)
        #expect(self.fixture.series()["c_total"] == 0)
        let meter = adapter.makeMeter(label: "m", dimensions: [])
        meter.increment(by: 2)
        meter.decrement(by: 0.5)
        #expect(self.fixture.series()["m"] == 1.5)
    }

    @Test("Beyond its limit a metric's new series are counted together")
    func overflow() {
        let family = OpenFamily<TidegateMetrics.Counter>(.adapted("x_total", .counter, .none))
        for number in 0..<5 {
            let found = family.child([.init("n", String(number))], limit: 3)
            found.child.add()
            #expect(found.isOverflow == (number > 2))
        }
        var output = ExpositionWriter(reusing: [], format: .text)
        family.write(to: &output, from: self.fixture.inputs)
        let text = String(decoding: output.finish(), as: UTF8.self)
        #expect(text.hasSuffix("x_total{n=\"2\"} 1\nx_total{n=\"_other\"} 2\n"))
    }
}
