//! Services that a task names and that do not run: what fails without them says nothing about the
//! work.

use crate::model::Service;
use crate::sys::{listens_on_port, listens_on_socket};

/// A line about the services on which nothing listens, and the way out.
pub fn silent_services(services: &[Service]) -> Option<String> {
    let place = |service: &Service| match service {
        Service::Port(port) => (!listens_on_port(*port)).then(|| format!("port {port}")),
        Service::Socket(path) => {
            (!listens_on_socket(path)).then(|| format!("`{}`", path.display()))
        }
    };
    let places: Vec<String> = services.iter().filter_map(place).collect();
    (!places.is_empty()).then(|| {
        format!(
            "nothing listens on {}, which `services:` names: start the service, or checks that \
             need it fail, whatever the work is",
            places.join(" and ")
        )
    })
}
