internal import Logging
internal import TidegateServer
internal import TidegateCore

/// The web configuration file of a daemon, which is read again whenever it changes.
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

    /// Follows the file from now on, and tells the ledger and the log what became of it.
    func source(time: any TimeSource, ledger: ReloadStatus, logger: Logger) -> WebFileSource {
        WebFileSource(path: self.path, first: self.first, access: self.access, time: time) { report in
            switch report {
            case .taken:
                logger.info("web configuration has changed")
                ledger.note(.web, isGood: true)
            case .refused(let error):
                ledger.note(.web, isGood: false)
                for problem in error.problems {
                    logger.error("web configuration is bad, the old one holds", metadata: ["problem": "\(problem)"])
                }
            }
        }
    }
}
