public import Foundation

/// The parts of a Grafana dashboard that tests check.
public struct Dashboard: Decodable, Sendable {
    /// The dashboards by file name without extension.
    public static let names = ["overview", "requests", "reachability", "probes", "internals"]

    /// The folder `dashboards`.
    public static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("dashboards")

    /// The id in its URL, which never changes.
    public let uid: String
    /// The title.
    public let title: String
    /// The question it answers, in a sentence.
    public let description: String?
    /// The tags.
    public let tags: [String]
    /// The version of Grafana's model.
    public let schemaVersion: Int
    /// False, so that users copy it before they change it.
    public let editable: Bool
    /// The refresh interval.
    public let refresh: String
    /// The initial time range.
    public let time: Span
    /// Links to other dashboards.
    public let links: [Link]
    /// Annotations on all charts.
    public let annotations: Annotations
    /// The variables.
    public let templating: Templating
    /// Panels and rows from top to bottom.
    public let panels: [Panel]

    /// Reads a file of the folder `dashboards`, named without its extension.
    public init(named name: String) throws {
        try self.init(json: Data(contentsOf: Dashboard.folder.appendingPathComponent("\(name).json")))
    }

    /// Reads a dashboard from JSON.
    public init(json: Data) throws {
        self = try JSONDecoder().decode(Dashboard.self, from: json)
    }

    /// Writes the alerts to a file of `folder`, with other times to wait before they fire, and returns its path.
    ///
    /// `seconds` makes them out of the shipped number of minutes or hours.
    public static func alerts(in folder: URL, waiting seconds: (Int) -> Int) throws -> String {
        let text = try String(contentsOf: self.folder.appendingPathComponent("alerts.yml"), encoding: .utf8)
        let file = folder.appendingPathComponent("alerts.yml")
        let changed = text.replacing(/for: ([0-9]+)[mh]\n/) { "for: \(seconds(Int($0.1) ?? 0))s\n" }
        try changed.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    /// The panels without rows.
    public var charts: [Panel] { self.panels.filter { $0.type != "row" } }

    /// Every query of every panel and annotation, with its title.
    public var queries: [(title: String, expr: String)] {
        self.charts.flatMap { panel in (panel.targets ?? []).map { (panel.title, $0.expr) } }
            + self.annotations.list.map { ($0.name, $0.expr) }
    }

    /// A time range in Grafana's syntax.
    public struct Span: Decodable, Sendable {
        /// The bounds.
        public let from, to: String
    }

    /// A link to another page.
    public struct Link: Decodable, Sendable {
        /// The text.
        public let title: String
        /// The URL.
        public let url: String
    }

    /// The annotations.
    public struct Annotations: Decodable, Sendable {
        /// In order.
        public let list: [Annotation]
    }

    /// An annotation on all charts.
    public struct Annotation: Decodable, Sendable {
        /// The name.
        public let name: String
        /// The query in PromQL, with variables.
        public let expr: String
        /// The data source.
        public let datasource: Source?
    }

    /// The variables.
    public struct Templating: Decodable, Sendable {
        /// In order.
        public let list: [Variable]
    }

    /// A reference to a data source.
    public struct Source: Decodable, Sendable {
        /// A variable or an id.
        public let uid: String
    }
}
