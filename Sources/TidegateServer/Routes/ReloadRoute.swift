internal import HTTPTypes
internal import HummingbirdCore

/// Reads the configuration file again, as `/-/reload` asks.
///
/// Returns the changed keys that need a restart.
package typealias ConfigurationReload = @Sendable () async throws(ReloadFailure) -> [String]

/// Why a configuration file was not taken; what ran before still does.
package struct ReloadFailure: Error, Sendable, Hashable {
    /// The first problem, with its file, line and key.
    package let problem: String
    /// How many more there are.
    package let others: Int

    /// A failure with its first problem.
    package init(problem: String, others: Int = 0) {
        self.problem = problem
        self.others = others
    }
}

/// `/-/reload`: a POST reads the configuration file again and is answered when what it says holds.
struct ReloadRoute: Sendable {
    /// Nil if there is no file.
    let reload: ConfigurationReload?

    /// 200, or 500 with the problem as blackbox_exporter begins it.
    func respond(to request: Request) async -> Response {
        guard request.head.isOfThisSite else {
            return .problem(
                .forbidden, "The Origin header names another site, whose pages may not reload the configuration.")
        }
        guard let reload else {
            return .problem(.notFound, "There is no configuration file: start with --config.file.")
        }
        do throws(ReloadFailure) {
            let waiting = try await reload()
            guard !waiting.isEmpty else { return .text("Reloaded.") }
            return .text("Reloaded; these changed keys need a restart: \(waiting.joined(separator: ", ")).")
        } catch {
            return .text(error.text, status: .internalServerError)
        }
    }
}

extension HTTPRequest {
    /// False if a page of another site sent it: a browser sends a page's POST wherever the page likes, with the user's
    /// credentials, and names the page's origin.
    var isOfThisSite: Bool {
        guard let origin = self.headerFields[.origin] else { return true }
        guard let host = self.authority?.lowercased() else { return false }
        return ["http://\(host)", "https://\(host)"].contains(origin.lowercased())
    }
}

extension ReloadFailure {
    /// One sentence for who asked.
    fileprivate var text: String {
        let number = self.others == 1 ? "1 more problem" : "\(self.others) more problems"
        let more = self.others > 0 ? " (and \(number), in the log)" : ""
        return "failed to reload config: \(self.problem)\(more); the former configuration stays"
    }
}
