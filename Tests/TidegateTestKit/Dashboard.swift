public import Foundation

/// A Grafana dashboard, as far as checks look at it.
public struct Dashboard: Decodable, Sendable {
    /// The dashboards there are, by file name without its ending.
    public static let names = ["overview", "requests", "reachability", "probes", "internals"]

    /// The folder `dashboards`.
    public static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("dashboards")

    /// The address that never changes.
    public let uid: String
    /// What stands above it.
    public let title: String
    /// What it answers, in a sentence.
    public let description: String?
    /// The words it is found by.
    public let tags: [String]
    /// The version of Grafana's model.
    public let schemaVersion: Int
    /// False: people copy it before they change it.
    public let editable: Bool
    /// How often it asks again.
    public let refresh: String
    /// The time shown at first.
    public let time: Span
    /// Ways to other dashboards.
    public let links: [Link]
    /// Marks across all charts.
    public let annotations: Annotations
    /// The variables.
    public let templating: Templating
    /// Panels and rows from top to bottom.
    public let panels: [Panel]

    /// Reads a file of the folder `dashboards`, named without its ending.
    public init(named name: String) throws {
        try self.init(json: Data(contentsOf: Dashboard.folder.appendingPathComponent("\(name).json")))
    }

    /// Reads a dashboard from JSON.
    public init(json: Data) throws {
        self = try JSONDecoder().decode(Dashboard.self, from: json)
    }

    /// The panels without the headings.
    public var charts: [Panel] { self.panels.filter { $0.type != "row" } }

    /// Every query of every panel and every mark, with the panel's title.
    public var queries: [(title: String, expr: String)] {
        self.charts.flatMap { panel in (panel.targets ?? []).map { (panel.title, $0.expr) } }
            + self.annotations.list.map { ($0.name, $0.expr) }
    }

    /// A time in Grafana's words.
    public struct Span: Decodable, Sendable {
        /// When it begins and ends.
        public let from, to: String
    }

    /// A way to another page.
    public struct Link: Decodable, Sendable {
        /// Its words.
        public let title: String
        /// Its address.
        public let url: String
    }

    /// The marks.
    public struct Annotations: Decodable, Sendable {
        /// In order.
        public let list: [Annotation]
    }

    /// A mark across all charts.
    public struct Annotation: Decodable, Sendable {
        /// What it says.
        public let name: String
        /// When it shows, in PromQL with variables.
        public let expr: String
        /// Where its data comes from.
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
