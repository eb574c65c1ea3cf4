/// A gauge with its series, as a probe returns it: made anew for every probe, and never kept.
package struct GaugeFamily: Sendable, Hashable {
    /// One series: its label values, in the order of the family's labels, and its number.
    package struct Sample: Sendable, Hashable {
        package var labels: [String]
        package var value: Double
    }

    /// The metric's name.
    package let name: String
    /// What it is, in one sentence.
    package let help: String
    /// The names of its labels.
    package let labels: [String]
    /// Its series, in the order in which they were first set.
    package private(set) var samples: [Sample] = []

    /// A family without series.
    package init(name: String, help: String, labels: [String] = []) {
        (self.name, self.help, self.labels) = (name, help, labels)
    }

    /// Sets the series with these label values.
    package mutating func set(_ value: Double, labels: [String] = []) {
        if let position = self.samples.firstIndex(where: { $0.labels == labels }) {
            self.samples[position].value = value
        } else {
            self.samples.append(Sample(labels: labels, value: value))
        }
    }

    /// The value of the series with these label values; nil without one.
    package func value(labels: [String] = []) -> Double? { self.samples.first { $0.labels == labels }?.value }
}
