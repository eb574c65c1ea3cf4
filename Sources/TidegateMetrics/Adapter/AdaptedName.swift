/// Makes names that Prometheus takes out of names that swift-metrics allows.
enum AdaptedName {
    /// The longest label value that is kept, in bytes; a series is no place for a document.
    static let maxValueBytes = 1024

    static func plain(_ label: String) -> String {
        // These endings would make one metric look like a part of another.
        let name = self.cleaned(label, colons: true)
        for ending in ["_total", "_created", "_count", "_sum", "_bucket", "_info"] where name.hasSuffix(ending) {
            return String(name.dropLast(ending.count)) + "_value"
        }
        return name
    }

    static func total(_ label: String) -> String {
        let name = self.cleaned(label, colons: true)
        return (name.hasSuffix("_total") ? self.plain(String(name.dropLast(6))) : self.plain(name)) + "_total"
    }

    static func seconds(_ label: String) -> String {
        let name = self.plain(label)
        return name.hasSuffix("_seconds") ? name : name + "_seconds"
    }

    /// The labels in the order of their names; of two with one name the last one counts.
    static func labels(_ dimensions: [(String, String)]) -> [MetricSample.Label] {
        var values: [String: String] = [:]
        for (name, value) in dimensions { values[self.labelName(name)] = self.bounded(value) }
        return values.sorted { $0.key < $1.key }.map { MetricSample.Label($0.key, $0.value) }
    }

    // `le` and `quantile` belong to the format, and names with two underscores to Prometheus.
    private static func labelName(_ name: String) -> String {
        let name = self.cleaned(name, colons: false)
        return ["le", "quantile"].contains(name) || name.hasPrefix("__") ? "exported_" + name : name
    }

    private static func bounded(_ value: String) -> String {
        guard value.utf8.count > self.maxValueBytes else { return value }
        return String(decoding: value.utf8.prefix(self.maxValueBytes), as: UTF8.self)
    }

    private static func cleaned(_ text: String, colons: Bool) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": name.unicodeScalars.append(scalar)
            case "0"..."9": name.unicodeScalars.append(contentsOf: name.isEmpty ? ["_", scalar] : [scalar])
            case ":" where colons: name.unicodeScalars.append(scalar)
            default: name.unicodeScalars.append("_")
            }
        }
        return name.isEmpty ? "_" : name
    }
}

extension MetricDefinition {
    /// A metric of the embedding program; swift-metrics gives no help text for it.
    static func adapted(_ name: String, _ kind: Kind, _ unit: Unit) -> MetricDefinition {
        MetricDefinition(name: name, help: "", kind: kind, unit: unit, labels: [])
    }
}
