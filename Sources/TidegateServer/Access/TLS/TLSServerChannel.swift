internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// Connections that may have to be decrypted before anything else looks at them.
struct TLSServerChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    /// Who knows the policy; nil leaves every connection as it is.
    let desk: AccessController?

    // Done at once: a connection that waits to be set up while its server stops would be dropped.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        guard let desk = self.desk else { return self.base.setup(channel: channel, logger: logger) }
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TLSDetectionHandler(desk))
        }.flatMap {
            self.base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await self.base.handle(value: value, logger: logger)
    }
}
