public import Foundation

/// The panels of a Grafana dashboard, as far as checks look at them.
public struct Dashboard: Decodable, Sendable {
    /// A panel or a row.
    public struct Panel: Decodable, Sendable {
        /// What stands above it.
        public let title: String
        /// `row` for a heading.
        public let type: String
        /// What it shows, in a sentence.
        public let description: String?
        /// Its place.
        public let gridPos: Place
        /// Its queries.
        public let targets: [Query]?
        /// Its unit.
        public let fieldConfig: Fields?
        /// Where its data comes from.
        public let datasource: Source?
    }

    /// A place in the grid of 24 columns.
    public struct Place: Decodable, Sendable {
        /// Columns from the left, rows from the top, width and height.
        public let x, y, w, h: Int
    }

    /// A query.
    public struct Query: Decodable, Sendable {
        /// In PromQL, with variables.
        public let expr: String
        /// The query's letter.
        public let refId: String

        /// The expression with every variable filled in.
        public var filled: String {
            [("$__rate_interval", "1m"), ("$__range", "5m"), ("$job", ".+"), ("$instance", ".+")]
                .reduce(self.expr) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        }
    }

    /// A reference to a data source.
    public struct Source: Decodable, Sendable {
        /// A variable or an id.
        public let uid: String
    }

    /// What all fields of a panel have in common.
    public struct Fields: Decodable, Sendable {
        /// The values for fields that say nothing else.
        public let defaults: Defaults
    }

    /// The values for fields that say nothing else.
    public struct Defaults: Decodable, Sendable {
        /// A unit's id.
        public let unit: String?
    }

    /// A variable to choose by.
    public struct Variable: Decodable, Sendable {
        /// The name behind `$`.
        public let name: String
    }

    /// The variables.
    public struct Templating: Decodable, Sendable {
        /// In order.
        public let list: [Variable]
    }

    /// The address that never changes.
    public let uid: String
    /// The version of Grafana's model.
    public let schemaVersion: Int
    /// False: people copy it before they change it.
    public let editable: Bool
    /// The variables.
    public let templating: Templating
    /// Panels and rows from top to bottom.
    public let panels: [Panel]

    /// Reads a file of the folder `dashboards`.
    public init(named name: String) throws {
        let file = Dashboard.folder.appendingPathComponent(name)
        self = try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: file))
    }

    /// The folder `dashboards`.
    public static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("dashboards")
}
