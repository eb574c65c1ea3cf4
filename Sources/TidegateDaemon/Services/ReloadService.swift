internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Reloads the configuration file on SIGHUP.
struct ReloadService: Service {
    /// The signals since before the file was read.
    let hangups: UnixSignalsSequence
    /// Nil if there is no file.
    let reloader: ConfigurationReloader?
    let logger: Logger

    func run() async throws {
        for await _ in self.hangups.cancelOnGracefulShutdown() {
            guard let reloader = self.reloader else {
                self.logger.info("no configuration file to reload")
                continue
            }
            // Its problems are in the log.
            _ = await reloader.reload()
        }
    }
}
