internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// A server's child channel that decrypts connections if the access policy says so.
struct TLSServerChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    /// Knows the policy; nil leaves every connection plain.
    let access: AccessController?

    // Set up synchronously: NIO drops a connection whose setup still waits when its server stops.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        guard let access = self.access else { return self.base.setup(channel: channel, logger: logger) }
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TLSDetectionHandler(access))
        }.flatMap {
            self.base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Base.Value, logger: Logger) async {
        await self.base.handle(value: value, logger: logger)
    }
}
