internal import TidegateCore

/// The task that an observation was about: it leads from a figure to the one request behind it.
struct Exemplar: Sendable {
    /// Where an observation comes from.
    struct Source: Sendable {
        let task: TaskID
        /// The attempt, counted from 1; nil for the whole task.
        var attempt: Int?
        /// The trace that the task is part of; nil for none.
        var trace: TraceID?
        let time: WallTime
    }

    let source: Source
    /// What was observed; 1 for a count.
    let value: Double

    /// The labels: 95 code points at most with their names and an attempt of five digits, of 128 allowed.
    var labels: [(name: String, value: String)] {
        [("task_id", self.source.task.description)] + (self.source.attempt.map { [("attempt", String($0))] } ?? [])
            + (self.source.trace.map { [("trace_id", $0.description)] } ?? [])
    }

    /// ` # {task_id="…",attempt="1"} 0.25 1790000000.123`, as OpenMetrics has it behind a sample's number.
    var text: [UInt8] {
        let labels = self.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
        let milliseconds = String(abs(self.source.time.microseconds) / 1000 % 1000)
        let padded = String(repeating: "0", count: 3 - milliseconds.count) + milliseconds
        let seconds = self.source.time.microseconds / 1_000_000
        return Array(" # {\(labels)} \(NumberText.float(self.value)) \(seconds).\(padded)".utf8)
    }

    /// The fields of a protobuf `Exemplar`.
    func write(to writer: inout ProtobufWriter) {
        writer.raw(SeriesName.pairs(self.labels.map(\.name), self.labels.map(\.value)))
        writer.double(2, self.value)
        writer.message(3) { $0.timestamp(self.source.time) }
    }
}

extension ProtobufWriter {
    /// The fields of a protobuf `Timestamp`.
    mutating func timestamp(_ time: WallTime) {
        let nanoseconds = time.microseconds % 1_000_000 * 1000
        self.plain(1, time.microseconds / 1_000_000)
        if nanoseconds != 0 { self.plain(2, nanoseconds) }
    }
}
