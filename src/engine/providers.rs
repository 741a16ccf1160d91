//! The tool providers of a run, as far as the loop needs them.
//!
//! Invariant: nothing that a provider does ends a turn or keeps the loop waiting.

use async_trait::async_trait;

use crate::model::RecordError;

/// An event that waits for the agent. Its text is redacted and cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedEvent {
    /// The provider.
    pub provider: String,
    /// The stream that keeps the event.
    pub stream: String,
    /// Its text.
    pub text: String,
}

/// The gateway of a run.
#[async_trait]
pub trait Providers: Send + Sync {
    /// Lets providers in. The journal has begun.
    ///
    /// # Errors
    /// If the journal cannot be written.
    fn open(&self) -> Result<(), RecordError>;

    /// Starts an iteration: events can be injected again.
    fn begin_iteration(&self);

    /// Tells the providers that no worker has a turn.
    async fn idle(&self);

    /// Takes the events that wait for the agent.
    fn take_events(&self) -> Vec<InjectedEvent>;

    /// Puts back events that the agent did not get.
    fn put_back(&self, events: Vec<InjectedEvent>);

    /// Why an event could not be recorded, if that happened.
    fn broken(&self) -> Option<RecordError>;

    /// Asks the providers to go.
    async fn end(&self);

    /// Waits a short time until they are gone, and returns notices. Nothing is recorded afterwards.
    async fn gone(&self) -> Vec<String>;
}
