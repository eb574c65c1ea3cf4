internal import TidegateProbes

/// A key of a configuration that blackbox_exporter treats differently, or that is refused here.
package struct ModuleDifference: Sendable, Hashable {
    /// The key, and as the message what differs or why it is refused.
    package let place: ConfigurationError.Problem
    /// What blackbox_exporter does; nil if the table of differences does not list the key.
    package let exporter: String?
    /// What Tidegate does; nil if the table does not list the key.
    package let here: String?

    /// The differences of a file, or of a directory of files, in the order of their lines.
    ///
    /// - Throws: ``ConfigurationError`` if a file cannot be read, or is not a mapping in YAML.
    package static func all(inFile file: String) throws(ConfigurationError) -> [ModuleDifference] {
        guard let root = try Configuration.root(ofFile: file) else { return [] }
        guard case .section = root.content else {
            throw ConfigurationError(file: file, "expected a mapping, found \(root.summary)")
        }
        var (problems, found): ([ConfigurationError.Problem], [ModuleDifference]) = ([], [])
        do throws(ConfigurationError) { _ = try Configuration(root, name: file) } catch { problems = error.problems }
        for key in (root.value(of: "modules")?.entries ?? []).flatMap({ Self.keys(of: $0.value) }) {
            let (rows, path) = (ProbeDifference.all.filter { $0.isDecided(by: key) }, key.entry.value.path)
            guard !rows.isEmpty else { continue }
            let refusals = problems.filter { $0.key == path || $0.key?.hasPrefix("\(path)[") == true }
            for row in rows {
                if row.condition == .isRefused {
                    found += refusals.map { ModuleDifference(refused: $0, of: row) }
                    problems.removeAll(where: refusals.contains)
                } else if refusals.isEmpty, key.entry.value.isGiven, !key.entry.value.isEmptyText {
                    found.append(ModuleDifference(key.entry, of: row))
                }
            }
        }
        return (found + problems.map { ModuleDifference(refused: $0) })
            .sorted { ($0.place.file, $0.place.line ?? 0) < ($1.place.file, $1.place.line ?? 0) }
    }

    private static func keys(of node: ConfigurationNode) -> [ModuleKey] {
        // The problems are known already; the keys that can be read are enough for the conditions.
        var (module, unused) = (ProbeModule(prober: .http()), ProblemList())
        unused.read(ProbeSchema.module, from: node, into: &module)
        return ModuleKey.all(in: node, of: module)
    }

    fileprivate init(refused problem: ConfigurationError.Problem, of row: ProbeDifference? = nil) {
        var place = problem
        place.message = row?.plainCells[0] ?? "refused: \(problem.message)"
        (self.place, self.exporter) = (place, row?.plainCells[1])
        self.here = row.map { _ in "refused: \(problem.message)" }
    }

    fileprivate init(_ entry: ConfigurationNode.Entry, of row: ProbeDifference) {
        let cells = row.plainCells
        self.place = .init(file: entry.value.file, line: entry.line, key: entry.value.path, message: cells[0])
        (self.exporter, self.here) = (cells[1], cells[2])
    }
}

extension ProbeDifference {
    // Without the marks of Markdown.
    fileprivate var plainCells: [String] { self.cells.map { $0.replacing("`", with: "\"") } }
}
