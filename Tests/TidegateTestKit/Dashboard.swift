package import Foundation

/// The parts of a Grafana dashboard that tests check.
package struct Dashboard: Decodable, Sendable {
    /// The dashboards by file name without extension.
    package static let names = [
        "overview", "requests", "reachability", "quality", "probes", "connections", "fleet", "internals",
    ]

    /// The folder `dashboards`.
    package static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("dashboards")

    /// The id in its URL, which never changes.
    package let uid: String
    /// The title.
    package let title: String
    /// The question it answers, in a sentence.
    package let description: String?
    /// The tags.
    package let tags: [String]
    /// The version of Grafana's model.
    package let schemaVersion: Int
    /// False, so that users copy it before they change it.
    package let editable: Bool
    /// The refresh interval.
    package let refresh: String
    /// The initial time range.
    package let time: Span
    /// Links to other dashboards.
    package let links: [Link]
    /// Annotations on all charts.
    package let annotations: Annotations
    /// The variables.
    package let templating: Templating
    /// Panels and rows from top to bottom.
    package let panels: [Panel]

    /// Reads a file of the folder `dashboards`, named without its extension.
    package init(named name: String) throws {
        try self.init(json: Data(contentsOf: Dashboard.folder.appendingPathComponent("\(name).json")))
    }

    /// Reads a dashboard from JSON.
    package init(json: Data) throws {
        self = try JSONDecoder().decode(Dashboard.self, from: json)
    }

    /// Writes the alerts to a file of `folder`, with other times to wait before they fire, and returns its path.
    ///
    /// `seconds` makes them out of the shipped number of minutes or hours.
    package static func alerts(in folder: URL, waiting seconds: (Int) -> Int) throws -> String {
        let text = try String(contentsOf: self.folder.appendingPathComponent("alerts.yml"), encoding: .utf8)
        let file = folder.appendingPathComponent("alerts.yml")
        let changed = text.replacing(/for: ([0-9]+)[mh]\n/) { "for: \(seconds(Int($0.1) ?? 0))s\n" }
        try changed.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    /// The panels without rows.
    package var charts: [Panel] { self.panels.filter { $0.type != "row" } }

    /// Every query of every panel and annotation, with its title.
    package var queries: [(title: String, expr: String)] {
        self.charts.flatMap { panel in (panel.targets ?? []).map { (panel.title, $0.expr) } }
            + self.annotations.list.map { ($0.name, $0.expr) }
    }

    /// A time range in Grafana's syntax.
    package struct Span: Decodable, Sendable {
        /// The bounds.
        package let from, to: String
    }

    /// A link to another page.
    package struct Link: Decodable, Sendable {
        /// The text.
        package let title: String
        /// The URL.
        package let url: String
    }

    /// The annotations.
    package struct Annotations: Decodable, Sendable {
        /// In order.
        package let list: [Annotation]
    }

    /// An annotation on all charts.
    package struct Annotation: Decodable, Sendable {
        /// The name.
        package let name: String
        /// The query in PromQL, with variables.
        package let expr: String
        /// The data source.
        package let datasource: Source?
    }

    /// The variables.
    package struct Templating: Decodable, Sendable {
        /// In order.
        package let list: [Variable]
    }

    /// A reference to a data source.
    package struct Source: Decodable, Sendable {
        /// A variable or an id.
        package let uid: String
    }
}
