internal import Logging
internal import TidegateCore
internal import TidegateServer

/// The web configuration file of a daemon, which is reloaded when it changes.
struct WebService: Sendable {
    private let path: String
    private let first: WebFile
    private let access: LoadedAccessPolicy

    /// Reads the file.
    init(path: String, at moment: WallTime) throws(ConfigurationError) {
        self.path = path
        self.first = WebFile(path, at: moment)
        self.access = try self.first.result.get()
    }

    /// True if the file has certificates.
    var isEncrypted: Bool { self.access.isEncrypted }

    /// True if every client has to show who it is.
    var authenticates: Bool { self.access.authenticates }

    /// What the file sets that has no effect here, and keys that every user may read, a sentence for each.
    var warnings: [String] { self.first.warnings }

    /// Follows the file from now on; reports reloads to `status` and the log.
    func source(time: any TimeSource, status: ReloadStatus, logger: Logger) -> WebFileSource {
        WebFileSource(path: self.path, first: self.first, access: self.access, time: time) { report in
            switch report {
            case .reloaded:
                logger.info("web configuration reloaded")
                status.record(.web, isGood: true)
            case .rejected(let error):
                status.record(.web, isGood: false)
                for problem in error.problems {
                    logger.error("invalid web configuration, keeping the old one", metadata: ["problem": "\(problem)"])
                }
            }
        }
    }
}
